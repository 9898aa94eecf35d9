// Checks providers and the adapter options that concern errors.

import type { ProviderError } from "../../core/types/common.ts";
import type { Provider } from "../../core/types/provider.ts";
import { isRecord } from "../guards.ts";
import { type Check, refuseOption } from "./check-fields.ts";
import type { ErrorWord } from "./error-words.ts";
import { defaultRetryable, isCode } from "./provider-error.ts";

/** The check for the `errorWords` option. */
export const errorWordsCheck: Check = [
  'an array such as [{ pattern: /input too big/i, code: "context-too-long" }], each with a RegExp and a provider error code',
  (value) =>
    Array.isArray(value) && value.every((row: unknown) => isRecord(row) && row.pattern instanceof RegExp && isCode(row.code)),
];

/** Changes the code of an error whose message matches a pattern in `words`. The first match is used. */
export function withErrorWords(error: ProviderError, words: readonly ErrorWord[] = []): ProviderError {
  const found = words.find(({ pattern }) => error.message.search(pattern) >= 0);
  return found === undefined ? error : { ...error, code: found.code, retryable: defaultRetryable(found.code) };
}

export const providerCheck: Check = ["a provider", isProvider, "provider"];

export function isProvider(value: unknown): value is Provider {
  if (!isRecord(value)) return false;
  const { id, model, stream } = value;
  return typeof id === "string" && typeof model === "string" && typeof stream === "function";
}

export function assertProvider(option: string, value: unknown): void {
  if (!isProvider(value)) throw refuseOption(option, providerCheck, value);
}
