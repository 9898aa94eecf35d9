import { expect, it } from "vitest";
import type { FinishReason } from "../core/index.ts";
import { isCleanEnd } from "../shared/adapters/read-answer.ts";
import { meaningOf } from "../shared/judge-finish.ts";
import { chatWords, isCut, toFinishReason } from "./chat-events.ts";

type Row = readonly [raw: string, plain: FinishReason, withCalls: FinishReason, refused: FinishReason, cut: boolean];

const rows: readonly Row[] = [
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
  ["STOP", "stop", "tool-calls", "refusal", false],
  ["toString", "unknown", "unknown", "unknown", false],
];
const mapped = ([, plain, withCalls, refused]: Row): string =>
  plain === refused
    ? `"${plain}", with or without calls`
    : `"${plain}" (with calls: "${withCalls}"; with calls and a refusal: "${refused}")`;

it.for(rows.map((row) => [row[0], mapped(row), row] as const))(
  'openaiChat: maps the finish reason "%s" to %s',
  ([, , [raw, plain, withCalls, refused, cut]]) => {
    const reason = meaningOf(raw, chatWords);
    expect(toFinishReason(reason, { hasCalls: false, refused: false })).toBe(plain);
    expect(toFinishReason(reason, { hasCalls: true, refused: false })).toBe(withCalls);
    expect(toFinishReason(reason, { hasCalls: true, refused: true })).toBe(refused);
    expect(isCut(reason)).toBe(cut);
    expect(isCleanEnd(reason)).toBe(plain === "stop" || plain === "tool-calls");
  },
);
