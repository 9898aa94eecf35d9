// The models that wrappers are tried on.

import { createMockProvider, fail, type MockPart, type MockProvider, type MockMessage } from "turnwright/testing";

/** A model of its own name that says nothing of its tokens. */
export const named = (id: string, ...turns: readonly MockMessage[]): MockProvider =>
  createMockProvider(turns, { id, model: `${id}-1`, usage: false });

/** A model for wrappers that have but one. */
export const single = (...turns: readonly MockMessage[]): MockProvider =>
  createMockProvider(turns, { id: "a", model: "m", usage: false });

/** A failure that is worth another try. */
export const busy: MockPart = fail({ status: 503, message: "Busy." });

/** The lines of an attempt that says "Hi.", to its end. */
export const answer = ["text Hi.", "finish stop", "end"] as const;
