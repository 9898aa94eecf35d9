// What one attempt of an iteration has said so far, and how its chunks are read.

import type { Json } from "../../types/json.ts";
import type { ProviderError, ProviderErrorCode } from "../../types/common.ts";
import type { CallDrafts } from "./call-drafts.ts";

/** What can be taken back when a wrapping provider discards an attempt. */
export interface AttemptContent {
  text: string;
  reasoning: string;
  details: string;
  thoughtLog: Json | undefined;
  /** Made with the first call, as `providerMetadata` is with the first part: most turns have neither. */
  calls: CallDrafts | undefined;
  providerMetadata: Json[] | undefined;
}

/** An attempt that has said nothing yet. */
export const emptyAttempt = (): AttemptContent => ({
  text: "",
  reasoning: "",
  details: "",
  thoughtLog: undefined,
  calls: undefined,
  providerMetadata: undefined,
});

/** Errors of services that turn a request away before the model has worked on it. */
const refusals: ReadonlySet<ProviderErrorCode> = new Set(["auth", "rate-limit", "overloaded", "bad-request", "context-too-long"]);

/** Whether an attempt was turned away, so that it has cost nothing though nobody said so. */
export function wasRefused(
  { text, reasoning, calls, providerMetadata }: AttemptContent,
  { code, status }: ProviderError,
): boolean {
  if (text !== "" || reasoning !== "" || calls !== undefined || providerMetadata !== undefined) return false;
  return status !== undefined || refusals.has(code);
}

/** Joins details by a blank line; blank ones are ignored. */
export function mergeDetails(before: string, incoming: string): string {
  if (incoming.trim() === "") return before;
  return before === "" ? incoming : `${before}\n\n${incoming}`;
}
