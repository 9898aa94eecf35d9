// Judges whether a model goes round in circles.

import type { LoopAction } from "../../types/loop-event.ts";
import type { LoopState } from "./loop-state.ts";
import { findRepeats, type Repeats } from "./repetition.ts";

/** When repeated calls are a loop, and what is done about it. */
export interface LoopRule {
  readonly threshold: number;
  readonly action: LoopAction;
}

/** A loop that the last iteration has come round in. */
export interface FoundLoop extends Repeats {
  /** The first tool of the iteration. */
  readonly toolName: string;
}

/** The iterations in a row that did the same, once there are too many. One more iteration than `maxIterations` there is none of anyway. */
export function findIdenticalCalls(
  { identical, countedIterations }: LoopState,
  { maxIdenticalCalls, maxIterations }: { readonly maxIdenticalCalls?: number | undefined; readonly maxIterations: number },
): Pick<FoundLoop, "toolName" | "count"> | undefined {
  const { count, outcomes } = identical;
  if (maxIdenticalCalls === undefined || count < maxIdenticalCalls || countedIterations >= maxIterations) return undefined;
  return { toolName: outcomes[0]?.call.name ?? "", count };
}

/** Finds out whether the calls that the model has just asked for are a loop. An iteration that ends the run in another way is none. */
export function findLoop(state: LoopState, rule: LoopRule | undefined): FoundLoop | undefined {
  const { repetition, turn, streamResults, finalAnswerTo } = state;
  const last = streamResults.at(-1);
  const isAsking = last?.status === "tool-calls" && last.stop === undefined && finalAnswerTo === undefined;
  if (!isAsking || rule === undefined || repetition === undefined) return undefined;
  const repeats = findRepeats(repetition, rule.threshold);
  return repeats === undefined ? undefined : { ...repeats, toolName: turn.calls[0]?.name ?? "" };
}
