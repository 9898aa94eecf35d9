import { describe, expect, it } from "vitest";
import type { FinishReason } from "../core/provider-kit.ts";
import { readFinish, toFinishReason } from "./model-finish.ts";

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
  ])("reads the finish reason %o as %s", ([said, reason, raw]) => {
    expect(readFinish(said)).toEqual(reason === undefined ? undefined : { reason, raw });
  });
});

describe("aiSdkModel", () => {
  it.for<[reason: FinishReason, hasCalls: boolean, hasAnswers: boolean, expected: FinishReason]>([
    ["stop", false, false, "stop"],
    ["stop", true, false, "tool-calls"],
    ["stop", false, true, "paused"],
    ["tool-calls", false, true, "paused"],
    ["tool-calls", true, true, "tool-calls"],
    ["length", true, true, "length"],
    ["content-filter", true, false, "content-filter"],
    ["paused", true, false, "paused"],
  ])(
    "maps the finish reason %s, with tool calls: %s and approval answers: %s, to %s",
    ([reason, hasCalls, hasAnswers, expected]) => {
      expect(toFinishReason({ reason, raw: "" }, { hasCalls, hasAnswers })).toBe(expected);
    },
  );
});
