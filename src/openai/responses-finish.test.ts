import { describe, expect, it } from "vitest";
import { isTerminal, toResponseEnd, toResponseError } from "./responses-events.ts";

describe("openaiResponses at the end of a response", () => {
  it.for<[event: string, response: { readonly [field: string]: unknown }, end: object]>([
    ["response.completed", { status: "completed" }, { kind: "completed" }],
    ["response.completed", {}, { kind: "completed" }],
    ["response.done", { status: "completed" }, { kind: "completed" }],
    ["response.completed", { status: "in_progress" }, { kind: "completed" }],
    [
      "response.incomplete",
      { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
      { kind: "incomplete", reason: "length", raw: "max_output_tokens" },
    ],
    [
      "response.incomplete",
      { incomplete_details: { reason: "max_messages" } },
      { kind: "incomplete", reason: "length", raw: "max_messages" },
    ],
    [
      "response.incomplete",
      { incomplete_details: { reason: "content_filter" } },
      { kind: "incomplete", reason: "content-filter", raw: "content_filter" },
    ],
    [
      "response.incomplete",
      { incomplete_details: { reason: "steered" } },
      { kind: "incomplete", reason: "unknown", raw: "steered" },
    ],
    [
      "response.incomplete",
      { incomplete_details: { reason: "__proto__" } },
      { kind: "incomplete", reason: "unknown", raw: "__proto__" },
    ],
    ["response.incomplete", { incomplete_details: null }, { kind: "incomplete", reason: "unknown", raw: "incomplete" }],
    ["response.incomplete", { status: "completed" }, { kind: "incomplete", reason: "unknown", raw: "incomplete" }],
    [
      "response.completed",
      { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
      { kind: "incomplete", reason: "length", raw: "max_output_tokens" },
    ],
    [
      "response.failed",
      { status: "failed", error: { code: "server_error", message: "It broke." } },
      { kind: "failed", error: { code: "server", retryable: true, message: "It broke." } },
    ],
    ["response.completed", { status: "failed", error: null }, { kind: "failed", error: { code: "server", retryable: true } }],
    [
      "response.completed",
      { status: "cancelled" },
      { kind: "failed", error: { code: "server", retryable: false, message: "The response was cancelled." } },
    ],
    ["response.cancelled", {}, { kind: "failed", error: { code: "server", retryable: false } }],
  ])("reads the event %s with the response %j as %j", ([event, response, end]) => {
    expect(isTerminal(event)).toBe(true);
    expect(toResponseEnd(event, response)).toMatchObject(end);
  });

  it.for<[event: unknown]>([["response.created"], ["response.in_progress"], ["done"], ["__proto__"], [undefined]])(
    "does not treat the event %j as the end",
    ([event]) => {
      expect(isTerminal(event)).toBe(false);
    },
  );
});

describe("openaiResponses with errors from the service", () => {
  it.for<[error: unknown, expected: object]>([
    [
      { code: "rate_limit_exceeded", message: "Slow." },
      { code: "rate-limit", retryable: true, message: "Slow." },
    ],
    [
      { code: "insufficient_quota", message: "No more." },
      { code: "rate-limit", retryable: false },
    ],
    [
      { code: "context_length_exceeded", message: "Long." },
      { code: "context-too-long", retryable: false },
    ],
    [
      { code: "server_is_overloaded", message: "Busy." },
      { code: "overloaded", retryable: true, message: "Busy." },
    ],
    [
      { code: "vector_store_timeout", message: "Late." },
      { code: "server", retryable: true },
    ],
    [
      { code: "invalid_prompt", message: "Invalid Responses API request" },
      { code: "bad-request", retryable: false, message: "Invalid Responses API request" },
    ],
    [
      { code: "image_parse_error", message: "No." },
      { code: "bad-request", retryable: false },
    ],
    [
      { code: "misalignment_policy_violation", message: "No." },
      { code: "content-filter", retryable: false },
    ],
    [{ code: "unsupported_image_media_type" }, { code: "bad-request", message: "unsupported_image_media_type" }],
    [
      { code: "weather", message: "Rain." },
      { code: "server", retryable: false, message: "Rain." },
    ],
    [
      { type: "error", code: "rate_limit_exceeded", message: "Slow.", param: null },
      { code: "rate-limit", retryable: true, message: "Slow." },
    ],
    [
      { type: "error", error: { type: "x", code: "cyber_policy", message: "No." } },
      { code: "content-filter", retryable: false, message: "No." },
    ],
    [{ code: "invalid_prompt", message: "Key sk-abc123def456." }, { message: "Key [redacted]." }],
    ["It broke.", { code: "server", message: "It broke." }],
    [undefined, { code: "server", message: "The response failed, and the service gave no reason." }],
  ])("converts %j to %j", ([error, expected]) => {
    expect(toResponseError(error)).toMatchObject({ name: "ProviderError", ...expected });
  });
});
