// Models for the tests of wrapping providers.

import { createMockProvider, fail, type MockPart, type MockProvider, type MockMessage } from "turnwright/testing";

/** Creates a model with the given id that reports no usage. */
export const named = (id: string, ...turns: readonly MockMessage[]): MockProvider =>
  createMockProvider(turns, { id, model: `${id}-1`, usage: false });

/** Creates a model for the tests of a wrapper around one provider. */
export const single = (...turns: readonly MockMessage[]): MockProvider =>
  createMockProvider(turns, { id: "a", model: "m", usage: false });

/** A retryable failure. */
export const busy: MockPart = fail({ status: 503, message: "Busy." });

/** The outlined lines of an attempt that answers "Hi." */
export const answer = ["text Hi.", "finish stop", "end"] as const;
