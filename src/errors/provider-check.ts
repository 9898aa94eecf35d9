// What a provider must be, as far as one can see before it streams.

import { isRecord } from "../kit/is-record.ts";
import type { Check } from "./check-fields.ts";

/** Looks for the fields that every provider has. */
export const providerCheck: Check = ['a provider: an object with "id", "model" and "stream"', isProvider];

function isProvider(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { id, model, stream } = value;
  return typeof id === "string" && typeof model === "string" && typeof stream === "function";
}
