import { expect, it } from "vitest";
import type { FinishReason } from "../core/index.ts";
import { mayBeCut, toFinishReason } from "./messages-events.ts";

const rows: readonly (readonly [raw: string, alone: FinishReason, withCalls: FinishReason, cut: boolean])[] = [
  ["end_turn", "stop", "tool-calls", false],
  ["stop_sequence", "stop", "tool-calls", true],
  ["tool_use", "tool-calls", "tool-calls", false],
  ["max_tokens", "length", "length", true],
  ["model_context_window_exceeded", "context-full", "context-full", true],
  ["refusal", "refusal", "refusal", true],
  ["pause_turn", "paused", "paused", false],
  ["compaction", "paused", "paused", false],
  ["toString", "unknown", "unknown", true],
];
const mapped = (alone: FinishReason, withCalls: FinishReason): string =>
  alone === withCalls ? `"${alone}", with or without calls` : `"${withCalls}" if there are calls, otherwise to "${alone}"`;

it.for(rows.map((row) => [row[0], mapped(row[1], row[2]), row] as const))(
  'anthropicMessages: maps the stop reason "%s" to %s',
  ([, , [raw, alone, withCalls]]) => {
    expect([toFinishReason(raw, false), toFinishReason(raw, true)]).toEqual([alone, withCalls]);
  },
);

it.for(rows.map(([raw, , , cut]) => [cut ? "possibly cut off" : "complete", raw, cut] as const))(
  'anthropicMessages: treats the last block as %s if the stop reason is "%s"',
  ([, raw, cut]) => {
    expect(mayBeCut(raw)).toBe(cut);
  },
);
