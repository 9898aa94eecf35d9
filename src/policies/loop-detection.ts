// Judges whether a model goes round in circles.

import type { LoopAction } from "../contract/loop-event.ts";
import type { LoopState } from "../state/loop-state.ts";
import { findRepeats, type Repeats } from "../state/repetition.ts";

/** When repeated calls are a loop, and what is done about it. */
export interface LoopRule {
  readonly threshold: number;
  readonly action: LoopAction;
}

/** A loop that the last pass has come round in. */
export interface FoundLoop extends Repeats {
  /** The first tool of the pass. */
  readonly toolName: string;
}

/** Finds out whether the calls that the model has just asked for are a loop. A pass that ends the run in another way is none. */
export function findLoop(state: LoopState, rule: LoopRule | undefined): FoundLoop | undefined {
  const { repetition, turn, streamResults, finalAnswerTo } = state;
  const last = streamResults.at(-1);
  const isAsking = last?.status === "function_call" && last.stop === undefined && finalAnswerTo === undefined;
  if (!isAsking || rule === undefined || repetition === undefined) return undefined;
  const repeats = findRepeats(repetition, rule.threshold);
  return repeats === undefined ? undefined : { ...repeats, toolName: turn.calls[0]?.name ?? "" };
}
