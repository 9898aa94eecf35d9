// The events that a run log writes.

import type { LoopEvent, LoopEventType } from "../../core/entry-kit.ts";
import type { RunLogPlace } from "./clean-values.ts";

/**
 * The events of a log, with the kind of their texts. `tool-args-delta` is left out, because `tool-args-end` has the complete
 * arguments.
 */
export const places: { readonly [Type in Exclude<LoopEventType, "run-start" | "tool-args-delta">]: RunLogPlace } = {
  "run-end": "event",
  "replay-end": "event",
  "iteration-start": "event",
  "iteration-end": "event",
  "text-delta": "output",
  "reasoning-delta": "output",
  "tool-args-end": "arguments",
  "tool-start": "arguments",
  "tool-progress": "progress",
  "tool-emit": "progress",
  "tool-end": "result",
  notice: "event",
  "hidden-notice": "event",
  restart: "event",
  handoff: "event",
  guardrail: "error",
  "approval-asked": "arguments",
  "approval-decided": "event",
  "question-asked": "arguments",
  "question-answered": "event",
  "loop-detected": "event",
  "result-processed": "event",
  "result-extracted": "event",
  "result-cached": "event",
  masked: "event",
  "compaction-start": "event",
  "compaction-end": "error",
  "cache-break": "event",
  steered: "messages",
  "attempt-discarded": "error",
  "late-result": "event",
  "listener-error": "error",
};

export const heardEvents: readonly LoopEventType[] = Object.keys(places) as (keyof typeof places)[];

/** An event that a log may have. */
export type NotedEvent = Extract<LoopEvent, { readonly type: keyof typeof places }>;
