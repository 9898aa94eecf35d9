import { createMockProvider, fail, type MockPart, type MockProvider, type MockMessage } from "turnwright/testing";

export const named = (id: string, ...turns: readonly MockMessage[]): MockProvider =>
  createMockProvider(turns, { id, model: `${id}-1`, usage: false });

export const single = (...turns: readonly MockMessage[]): MockProvider =>
  createMockProvider(turns, { id: "a", model: "m", usage: false });

export const busy: MockPart = fail({ status: 503, message: "Busy." });

export const answer = ["text Hi.", "finish stop", "end"] as const;
