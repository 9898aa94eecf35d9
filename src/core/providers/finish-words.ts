// A vendor's words for why a model stopped, and those that a caller adds to them.

import type { FinishReason } from "../types/provider.ts";
import { isRecord } from "../utils/is-record.ts";
import type { Check } from "../errors/check-fields.ts";

/** Reasons by the vendor's words. */
export type FinishWords = ReadonlyMap<string, FinishReason>;

/** A reason that is missing here does not compile. */
const known: { readonly [Reason in FinishReason]: true } = {
  stop: true,
  "tool-calls": true,
  length: true,
  "context-full": true,
  refusal: true,
  "content-filter": true,
  paused: true,
  continue: true,
  "malformed-call": true,
  error: true,
  unknown: true,
};

const names = Object.keys(known).map((name) => `"${name}"`);

/** The check of the option `finishReasons`, which says what words of a vendor mean. */
export const finishReasonsCheck: Check = [
  `an object such as { "FUNCTION_CALL": "tool-calls" }, with the reasons ${names.join(", ")}`,
  (value) => isRecord(value) && !Array.isArray(value) && Object.values(value).every(isReason),
];

function isReason(value: unknown): boolean {
  return typeof value === "string" && Object.hasOwn(known, value);
}

/** The words of a vendor with those of the caller, which outrank them. A map, so that no word finds what every object has. */
export function withFinishReasons(words: FinishWords, option: { readonly [word: string]: FinishReason } = {}): FinishWords {
  return new Map([...words, ...Object.entries(option)]);
}
