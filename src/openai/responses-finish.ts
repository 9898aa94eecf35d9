// How a response ended, and what the errors of this wire mean.

import { isRecord, providerError, textOf, toProviderError } from "../core/provider-kit.ts";
import type { FinishReason, FinishWords, ProviderError, ProviderErrorCode, UnknownRecord } from "../core/provider-kit.ts";

/** The end of a response. */
export type ResponseEnd =
  | { readonly kind: "completed" | "incomplete"; readonly reason: FinishReason; readonly raw: string }
  | { readonly kind: "failed"; readonly error: ProviderError };

/** The worst comes first: a response that failed is not made good by an event of another name. */
const statusByEvent: ReadonlyMap<string, string> = new Map([
  ["response.failed", "failed"],
  ["response.cancelled", "cancelled"],
  ["response.incomplete", "incomplete"],
  ["response.completed", "completed"],
]);

/**
 * `max_messages` is a limit as well. `steered` comes on sockets only, where another response follows it, so that it is left unknown.
 * Facts: the API's own description of `incomplete_details.reason`.
 */
export const incompleteWords: FinishWords = new Map<string, FinishReason>([
  ["max_output_tokens", "length"],
  ["max_messages", "length"],
  ["content_filter", "content-filter"],
]);

/** Whether an event is the last one of a response. */
export function isTerminal(eventType: unknown): eventType is string {
  return typeof eventType === "string" && statusByEvent.has(eventType);
}

/**
 * Reads the end of a response from its last event, and from the status of the response itself. One that is incomplete for a reason that
 * the caller takes for a proper end is completed.
 */
export function toResponseEnd(eventType: string, response: UnknownRecord, words: FinishWords = incompleteWords): ResponseEnd {
  const said = new Set([statusByEvent.get(eventType), response.status]);
  if (said.has("failed")) return { kind: "failed", error: toResponseError(response.error) };
  if (said.has("cancelled")) {
    return { kind: "failed", error: providerError("server", "The response was cancelled.", { retryable: false }) };
  }
  if (!said.has("incomplete")) return { kind: "completed", reason: "stop", raw: "completed" };
  const details = response.incomplete_details;
  const raw = isRecord(details) && textOf(details.reason) !== "" ? textOf(details.reason) : "incomplete";
  const reason = words.get(raw) ?? "unknown";
  return { kind: reason === "stop" || reason === "tool-calls" ? "completed" : "incomplete", reason, raw };
}

/** Codes that say what was wrong with the request: repeating it does not help. Of images there are a dozen. */
const badRequest = /^(?:invalid_prompt|data_residency_mismatch|bio_policy|cyber_policy)$|image/;

const codes: ReadonlyMap<string, ProviderErrorCode> = new Map([
  ["vector_store_timeout", "server"],
  ["server_is_overloaded", "overloaded"],
]);

/** The error of a failed response, or of an `error` event, whose fields may stand in it or in its `error`. */
export function toResponseError(error: unknown): ProviderError {
  if (!isRecord(error)) return providerError("server", textOf(error) || "The response failed, and the service did not say why.");
  const { code: ownCode, message: ownMessage } = isRecord(error.error) ? error.error : error;
  const code = textOf(ownCode);
  const known = codes.get(code) ?? (badRequest.test(code) ? "bad-request" : undefined);
  return known === undefined ? toProviderError(error) : providerError(known, textOf(ownMessage) || code);
}
