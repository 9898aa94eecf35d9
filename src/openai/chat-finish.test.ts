import { expect, it } from "vitest";
import type { FinishReason } from "../core/provider-kit.ts";
import { chatWords, isCleanEnd, isCut, toFinishReason } from "./chat-chunks.ts";

it.for<[raw: string, plain: FinishReason, withCalls: FinishReason, refused: FinishReason, cut: boolean]>([
  ["stop", "stop", "tool-calls", "refusal", false],
  ["eos", "stop", "tool-calls", "refusal", false],
  ["tool_calls", "tool-calls", "tool-calls", "refusal", false],
  ["function_call", "tool-calls", "tool-calls", "refusal", false],
  ["length", "length", "length", "length", true],
  ["model_length", "context-full", "context-full", "context-full", true],
  ["model_context_window_exceeded", "context-full", "context-full", "context-full", true],
  ["content_filter", "content-filter", "content-filter", "content-filter", false],
  ["sensitive", "content-filter", "content-filter", "content-filter", false],
  ["error", "error", "error", "error", false],
  ["network_error", "error", "error", "error", false],
  ["insufficient_system_resource", "error", "error", "error", false],
  ["STOP", "unknown", "unknown", "unknown", false],
  ["toString", "unknown", "unknown", "unknown", false],
])(
  "openaiChat: maps the finish reason %s to %s, to %s after calls, and to %s after calls and a refusal",
  ([raw, plain, withCalls, refused, cut]) => {
    const reason = chatWords.get(raw) ?? "unknown";
    expect(toFinishReason(reason, { hasCalls: false, refused: false })).toBe(plain);
    expect(toFinishReason(reason, { hasCalls: true, refused: false })).toBe(withCalls);
    expect(toFinishReason(reason, { hasCalls: true, refused: true })).toBe(refused);
    expect(isCut(reason)).toBe(cut);
    expect(isCleanEnd(reason)).toBe(plain === "stop" || plain === "tool-calls");
  },
);
