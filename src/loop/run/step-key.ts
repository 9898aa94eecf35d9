// The keys of steps: made from positions, unique in the run, and the same in every execution of it.

import type { LoopState } from "../../state/loop-state.ts";

/** The key of a step of the current pass. What a reopened pass does again has a number behind it. */
export function stepKey({ iteration, reopens }: Pick<LoopState, "iteration" | "reopens">, step: string): string {
  return numberedKey(`p${iteration}/${step}`, reopens);
}

/** The key of a step that is done more than once in one place: the first has no number. */
export function numberedKey(key: string, count: number): string {
  return count === 0 ? key : `${key}/${count}`;
}
