import { expect, it } from "vitest";
import type { FinishReason } from "../core/provider-kit.ts";
import { isKept, toFinishReason } from "./generate-events.ts";

it.for<[raw: string, reason: FinishReason, withCalls: FinishReason, isKept: boolean]>([
  ["STOP", "stop", "tool-calls", true],
  ["MAX_TOKENS", "length", "length", true],
  ["CONTINUATION", "continue", "continue", true],
  ["SAFETY", "content-filter", "content-filter", false],
  ["RECITATION", "content-filter", "content-filter", false],
  ["LANGUAGE", "content-filter", "content-filter", false],
  ["BLOCKLIST", "content-filter", "content-filter", false],
  ["PROHIBITED_CONTENT", "content-filter", "content-filter", false],
  ["SPII", "content-filter", "content-filter", false],
  ["MODEL_ARMOR", "content-filter", "content-filter", false],
  ["IMAGE_SAFETY", "content-filter", "content-filter", false],
  ["IMAGE_PROHIBITED_CONTENT", "content-filter", "content-filter", false],
  ["IMAGE_RECITATION", "content-filter", "content-filter", false],
  ["MALFORMED_FUNCTION_CALL", "malformed-call", "malformed-call", false],
  ["UNEXPECTED_TOOL_CALL", "malformed-call", "malformed-call", false],
  ["MALFORMED_RESPONSE", "error", "error", false],
  ["TOO_MANY_TOOL_CALLS", "error", "error", false],
  ["OTHER", "error", "error", false],
  ["NO_IMAGE", "error", "error", false],
  ["IMAGE_OTHER", "error", "error", false],
  ["FINISH_REASON_UNSPECIFIED", "unknown", "unknown", false],
  ["FUNCTION_CALL", "unknown", "unknown", false],
])("googleGenerateContent: maps the finish reason %s to %s, and to %s after calls", ([raw, reason, withCalls, kept]) => {
  expect(toFinishReason(raw, { hasCalls: false, hasToken: true })).toBe(reason);
  expect(toFinishReason(raw, { hasCalls: true, hasToken: true })).toBe(withCalls);
  expect([isKept(reason), isKept(withCalls)]).toEqual([kept, kept]);
});

it("googleGenerateContent: maps the finish reason CONTINUATION without a token to length", () => {
  expect(toFinishReason("CONTINUATION", { hasCalls: false, hasToken: false })).toBe("length");
});
