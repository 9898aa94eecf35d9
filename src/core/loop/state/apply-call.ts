// Changes the state of a run after a tool call, or after the calls of one iteration. These functions also run in a replay, so they only
// depend on records.

import type { LoopAction } from "../../types/loop-event.ts";

/** The rule that says how many repetitions are a loop, and how the run reacts to a loop. */
export interface LoopRule {
  readonly threshold: number;
  readonly action: LoopAction;
}
