// The calls of an iteration before they run, and how many of them `maxToolCalls` leaves room for.

import type { ToolOutcome } from "../../types/tool-outcome.ts";
import type { AwaitingCall, Prepared } from "../run/call.ts";
import type { Run } from "../run/run.ts";

/** A call that is over: it was started while the model spoke, or somebody has just refused it. */
export interface OverCall {
  readonly kind: "over";
  readonly outcome: ToolOutcome;
  /** Whether its end is of this execution, also where its iteration was replayed. */
  readonly live: boolean;
  /** Whether listeners have heard of it. */
  readonly announced: boolean;
}

/** A call of a batch: one that may run, one that waits, one that is over, or the outcome of one that may not run. */
export type BatchEntry = Prepared | AwaitingCall | OverCall;

/** Admits the calls of one batch, in call order. */
export interface Room {
  /** Whether no further call fits, whatever becomes of those before it. */
  isFull(): boolean;
  /** The call, or its outcome if it does not fit any more. */
  admit(entry: BatchEntry): BatchEntry;
}

/**
 * Of a batch that crosses `maxToolCalls`, the first calls that fit run and the others end as "limit". With 2 calls left, the third ready
 * call of a batch does not run. Only the run's own count is looked at, which a replay finds the same; what runs beside each other have
 * left of a common limit is looked at when a call is dispatched.
 */
export function createRoom({ state, bounds }: Run): Room {
  let left = state.toolLimitReached ? 0 : bounds.maxToolCalls - state.toolCallsExecuted;
  // A call that waits may be denied, and leaves its place then.
  let isOpen = false;
  return {
    isFull: () => left <= 0 && !isOpen,
    admit: (entry) => {
      isOpen ||= entry.kind === "awaiting";
      // A call that waits for a decision counts as one that runs. Otherwise a call after it would run now, and it would not fit later.
      const mayRun = entry.kind === "ready" || entry.kind === "awaiting";
      if (mayRun || isCancelled(entry)) left -= 1;
      return mayRun && left < 0 ? { call: entry.call, durationMs: 0, kind: "limit" } : entry;
    },
  };
}

/** A call that waited until its run ended: it has kept its place until then. */
function isCancelled(entry: BatchEntry): boolean {
  return (entry.kind === "over" ? entry.outcome : entry).kind === "not-run";
}
