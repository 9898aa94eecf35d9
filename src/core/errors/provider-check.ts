// What a provider must be, as far as one can see before it streams.

import type { Provider } from "../types/provider.ts";
import { isRecord } from "../utils/is-record.ts";
import { type Check, invalidOption } from "./check-fields.ts";

/** As a check of an option. */
export const providerCheck: Check = ['a provider: an object with "id", "model" and "stream"', isProvider];

/** Whether a value has the fields that every provider has. */
export function isProvider(value: unknown): value is Provider {
  if (!isRecord(value)) return false;
  const { id, model, stream } = value;
  return typeof id === "string" && typeof model === "string" && typeof stream === "function";
}

/** Throws LoopError "invalid-option" where an option is no provider. */
export function assertProvider(option: string, value: unknown): void {
  if (!isProvider(value)) throw invalidOption(option, providerCheck[0], value);
}
