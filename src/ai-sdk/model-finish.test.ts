import { describe, expect, it } from "vitest";
import type { FinishReason } from "../core/index.ts";
import { readFinish, toFinishReason } from "./model-end.ts";

describe("aiSdkModel", () => {
  it.for<[said: unknown, reason: FinishReason | undefined, raw?: string]>([
    ["stop", "stop", "stop"],
    ["tool-calls", "tool-calls", "tool-calls"],
    ["length", "length", "length"],
    ["content-filter", "content-filter", "content-filter"],
    ["error", "error", "error"],
    ["other", "unknown", "other"],
    ["toString", "unknown", "toString"],
    ["unknown", undefined],
    [{ unified: "stop", raw: undefined }, "stop", "stop"],
    [{ unified: "stop", raw: "end_turn" }, "stop", "end_turn"],
    [{ unified: "other", raw: "weather" }, "unknown", "weather"],
    [{ unified: "other", raw: undefined }, undefined],
    [{ unified: "interrupted", raw: undefined }, undefined],
    [{ unified: "interrupted", raw: "end_turn" }, undefined],
    [{ unified: "stop", raw: "pause_turn" }, "paused", "pause_turn"],
    [{ unified: "other", raw: "compaction" }, "paused", "compaction"],
    [{ unified: "length", raw: "model_context_window_exceeded" }, "context-full", "model_context_window_exceeded"],
    [{ unified: "content-filter", raw: "refusal" }, "refusal", "refusal"],
    [{ unified: "error", raw: "MALFORMED_FUNCTION_CALL" }, "malformed-call", "MALFORMED_FUNCTION_CALL"],
    [{ unified: "other", raw: "UNEXPECTED_TOOL_CALL" }, "malformed-call", "UNEXPECTED_TOOL_CALL"],
    [{ unified: "other", raw: "MODEL_ARMOR" }, "content-filter", "MODEL_ARMOR"],
    [{ unified: "tool-calls", raw: "max_messages" }, "length", "max_messages"],
    [{ unified: "tool-calls", raw: "steered" }, "unknown", "steered"],
    [undefined, undefined],
    [null, undefined],
    [{}, undefined],
    [{ unified: 1 }, undefined],
  ])("reads the finish reason %o as %o", ([said, reason, raw]) => {
    expect(readFinish(said)).toEqual(reason === undefined ? undefined : { reason, raw });
  });
});

describe("aiSdkModel", () => {
  const neither = { hasCalls: false, hasAnswers: false };
  const onlyCalls = { hasCalls: true, hasAnswers: false };
  const onlyAnswers = { hasCalls: false, hasAnswers: true };
  const both = { hasCalls: true, hasAnswers: true };

  it.for<[reason: FinishReason, expected: FinishReason, content: string, has: typeof both]>([
    ["stop", "stop", "neither tool calls nor approval answers", neither],
    ["stop", "tool-calls", "tool calls", onlyCalls],
    ["stop", "paused", "approval answers", onlyAnswers],
    ["tool-calls", "paused", "approval answers", onlyAnswers],
    ["tool-calls", "tool-calls", "tool calls and approval answers", both],
    ["length", "length", "tool calls and approval answers", both],
    ["content-filter", "content-filter", "tool calls", onlyCalls],
    ["paused", "paused", "tool calls", onlyCalls],
  ])('maps the finish reason "%s" to "%s" if the message has %s', ([reason, expected, , has]) => {
    expect(toFinishReason({ reason, raw: "" }, has)).toBe(expected);
  });
});
