// Changes the state of a run after a tool call, or after the calls of one iteration. These functions also run in a replay, so they only
// depend on records.

import type { LoopAction } from "../../types/loop-event.ts";
import type { SettledCall } from "./step-result.ts";

export function isWaiting({ awaiting, suspended }: Pick<SettledCall, "awaiting" | "suspended">): boolean {
  return awaiting !== undefined || suspended !== undefined;
}

/** The rule that says how many repetitions are a loop, and how the run reacts to a loop. */
export interface LoopRule {
  readonly threshold: number;
  readonly action: LoopAction;
}
