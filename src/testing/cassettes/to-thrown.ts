// A recorded error as something to throw.

import type { ProviderError } from "../../core/entry-kit.ts";

/** Makes an Error that says what the provider error says. */
export function toThrown(error: ProviderError): Error {
  return Object.assign(new Error(error.message), error);
}
