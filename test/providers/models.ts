// Models for tests of wrappers.

import { createMockProvider, fail, type MockPart, type MockProvider, type MockMessage } from "turnwright/testing";

/** A model with its own id that reports no usage. */
export const named = (id: string, ...turns: readonly MockMessage[]): MockProvider =>
  createMockProvider(turns, { id, model: `${id}-1`, usage: false });

/** A model for wrappers of one provider. */
export const single = (...turns: readonly MockMessage[]): MockProvider =>
  createMockProvider(turns, { id: "a", model: "m", usage: false });

/** A retryable failure. */
export const busy: MockPart = fail({ status: 503, message: "Busy." });

/** The lines of an attempt that answers "Hi." */
export const answer = ["text Hi.", "finish stop", "end"] as const;
