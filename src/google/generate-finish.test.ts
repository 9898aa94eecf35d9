import { expect, it } from "vitest";
import type { FinishReason } from "../core/index.ts";
import { isKept, toFinishReason } from "./generate-events.ts";

it.for<[raw: string, reason: FinishReason, isKept: boolean]>([
  ["MAX_TOKENS", "length", true],
  ["CONTINUATION", "continue", true],
  ["SAFETY", "content-filter", false],
  ["RECITATION", "content-filter", false],
  ["LANGUAGE", "content-filter", false],
  ["BLOCKLIST", "content-filter", false],
  ["PROHIBITED_CONTENT", "content-filter", false],
  ["SPII", "content-filter", false],
  ["MODEL_ARMOR", "content-filter", false],
  ["IMAGE_SAFETY", "content-filter", false],
  ["IMAGE_PROHIBITED_CONTENT", "content-filter", false],
  ["IMAGE_RECITATION", "content-filter", false],
  ["MALFORMED_FUNCTION_CALL", "malformed-call", false],
  ["UNEXPECTED_TOOL_CALL", "malformed-call", false],
  ["MALFORMED_RESPONSE", "error", false],
  ["TOO_MANY_TOOL_CALLS", "error", false],
  ["OTHER", "error", false],
  ["NO_IMAGE", "error", false],
  ["IMAGE_OTHER", "error", false],
  ["FINISH_REASON_UNSPECIFIED", "unknown", false],
  ["FUNCTION_CALL", "unknown", false],
])('googleGenerateContent: maps the finish reason "%s" to "%s", with or without calls', ([raw, reason, kept]) => {
  expect(toFinishReason(raw, { hasCalls: false, hasToken: true })).toBe(reason);
  expect(toFinishReason(raw, { hasCalls: true, hasToken: true })).toBe(reason);
  expect(isKept(reason)).toBe(kept);
});

it('googleGenerateContent: maps the finish reason "STOP" to "tool-calls" if the message has calls, otherwise to "stop"', () => {
  expect(toFinishReason("STOP", { hasCalls: false, hasToken: true })).toBe("stop");
  expect(toFinishReason("STOP", { hasCalls: true, hasToken: true })).toBe("tool-calls");
  expect([isKept("stop"), isKept("tool-calls")]).toEqual([true, true]);
});

it('googleGenerateContent: maps the finish reason "CONTINUATION" to "length" if there is no continuation token', () => {
  expect(toFinishReason("CONTINUATION", { hasCalls: false, hasToken: false })).toBe("length");
});
