// Describes each event type in one row, for logs, hosts, web pages, tracing and the test recorder. A new event needs a row here, a type in
// src/core/types/loop-event.ts, and the code that sends it.

import type { LoopEvent, LoopEvents, LoopEventType } from "../core/types/loop-event.ts";

/** The kind of text in a run log, as passed to `redact`. */
export type RunLogPlace =
  | "system"
  | "tools"
  | "messages"
  | "media"
  | "output"
  | "arguments"
  | "result"
  | "progress"
  | "metadata"
  | "settings"
  | "session"
  | "error"
  | "event";

/** The names of span attributes by field, without the `turnwright.` prefix. */
type Attributes<Field extends string> = { readonly [Name in Field]?: string };

/** The properties of one type of event. `Field` is the union of the event's field names. */
interface EventRow<Field extends string = string> {
  /** The place that a run log passes to `redact` for text in the event. Undefined if logs contain no line for the event. */
  readonly log?: RunLogPlace;
  /** The fields that an outline shows after the call's name and id, in order. Default: none. */
  readonly facts?: readonly Field[];
  /** True for an event that is one of many fragments. A replay may send different fragments, or none. */
  readonly isPiece?: true;
  /** True for an event meant for the server's logs. It is sent to web pages only if the program asks for it. */
  readonly isInternal?: true;
  /** True if an exported trace marks the time of the event. */
  readonly isMark?: true;
  /**
   * The attributes of an event that tracing adds to the span of its run. The error and the call are always added, and do not have to be
   * listed here.
   */
  readonly span?: Attributes<Field>;
  /** Attributes like those in `span`, for fields that may contain any text. They are added only with `captureContent`. */
  readonly spanContent?: Attributes<Field>;
}

export const eventTable: { readonly [Type in LoopEventType]: EventRow<keyof LoopEvents[Type] & string> } = {
  "run-start": {},
  "run-end": { log: "event" },
  "replay-end": { log: "event", isMark: true },
  "iteration-start": { log: "event" },
  "iteration-end": { log: "event" },
  "text-delta": { log: "output", facts: ["text"], isPiece: true },
  "reasoning-delta": { log: "output", facts: ["text"], isPiece: true },
  "tool-args-delta": { facts: ["text"], isPiece: true },
  "tool-args-end": { log: "arguments", facts: ["args"] },
  "tool-start": { log: "arguments", facts: ["args"] },
  "tool-progress": { log: "progress", facts: ["data"], isPiece: true },
  // Records only emitted data as span events, because emitted text arrives in too many pieces.
  "tool-emit": { log: "progress", isPiece: true, span: { part: "emit.name" } },
  "tool-end": { log: "result", facts: ["outcome"] },
  notice: { log: "event", facts: ["kind"], isMark: true },
  "hidden-notice": { log: "event", isInternal: true },
  restart: {
    log: "event",
    facts: ["suffix"],
    isMark: true,
    span: {},
    spanContent: { suffix: "restart.suffix", disableTools: "restart.disabled_tools" },
  },
  handoff: { log: "event", isMark: true, span: { from: "handoff.from", to: "handoff.to" } },
  guardrail: {
    log: "error",
    facts: ["stage", "guardrail", "part", "verdict"],
    isMark: true,
    span: { guardrail: "guardrail.name", stage: "guardrail.stage", verdict: "guardrail.verdict" },
  },
  "approval-asked": { log: "arguments", facts: ["args"], span: {} },
  "approval-decided": { log: "event", facts: ["decision"], span: { decision: "approval.decision" } },
  "question-asked": { log: "arguments" },
  "question-answered": { log: "event", facts: ["answer"] },
  "loop-detected": {
    log: "event",
    isMark: true,
    span: { count: "loop.count", cycle: "loop.cycle", action: "loop.action" },
  },
  "result-processed": { log: "event" },
  "result-extracted": { log: "event" },
  "result-cached": { log: "event" },
  masked: { log: "event", isMark: true },
  "compaction-start": { log: "event", facts: ["cause"] },
  "compaction-end": {
    log: "error",
    span: {
      outcome: "compaction.outcome",
      tokensBefore: "compaction.tokens_before",
      tokensAfter: "compaction.tokens_after",
    },
  },
  "cache-break": {
    log: "event",
    isInternal: true,
    isMark: true,
    span: { cause: "cache_break.cause", keptBytes: "cache_break.kept_bytes", lostBytes: "cache_break.lost_bytes" },
  },
  "request-adjusted": { log: "event", isInternal: true, isMark: true, span: { changes: "request.changes" } },
  steered: { log: "messages", isMark: true },
  "attempt-discarded": { log: "error", span: { attempt: "attempt" } },
  "late-result": { log: "event", isMark: true, span: { success: "late.success" } },
  "listener-error": { log: "error", isInternal: true },
};

/** The types of all events. */
export const eventTypes: readonly LoopEventType[] = /* @__PURE__ */ Object.keys(eventTable) as LoopEventType[];

/** An event whose usage and cost are added to its run: any event with a usage and the provider that was used. */
export type SpendingEvent = Extract<LoopEvent, { readonly provider: unknown; readonly usage: unknown }>;

export function isSpending(event: LoopEvent): event is SpendingEvent {
  return "usage" in event && "provider" in event;
}

/** Returns an event's row. A stored event from a newer release may have no row. */
export function rowOf({ type }: { readonly type: string }): EventRow {
  const rows: { readonly [type: string]: EventRow } = eventTable;
  return (Object.hasOwn(rows, type) ? rows[type] : undefined) ?? {};
}
