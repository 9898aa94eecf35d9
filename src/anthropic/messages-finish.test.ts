import { expect, it } from "vitest";
import type { FinishReason } from "../core/provider-kit.ts";
import { mayBeCut, toFinishReason } from "./messages-events.ts";

it.for<[raw: string, alone: FinishReason, withCalls: FinishReason, cut: boolean]>([
  ["end_turn", "stop", "tool-calls", false],
  ["stop_sequence", "stop", "tool-calls", true],
  ["tool_use", "tool-calls", "tool-calls", false],
  ["max_tokens", "length", "length", true],
  ["model_context_window_exceeded", "context-full", "context-full", true],
  ["refusal", "refusal", "refusal", true],
  ["pause_turn", "paused", "paused", false],
  ["compaction", "paused", "paused", false],
  ["toString", "unknown", "unknown", true],
])(
  "anthropicMessages: maps the stop reason %s to %s, and to %s after calls; its last block may be cut off: %s",
  ([raw, alone, withCalls, cut]) => {
    expect([toFinishReason(raw, false), toFinishReason(raw, true), mayBeCut(raw)]).toEqual([alone, withCalls, cut]);
  },
);
