// The keys of steps. A key is made from a position, is the same in every execution of the run, and never names two positions:
//
//   key     = "run" | retry | [retry "/"] place
//   retry   = "retry" n                     a question whether to try again; the keys of all that the retry does start with it
//   place   = "p" n "/" step [suffix]       n counts passes
//   step    = "inbox" | "model" | "tool/" n "/" name | ...
//   suffix  = "/" word n                    something that is done again in one place; each kind has its own word
//
// A name has no slash. After the key of a tool's step only the keys of a run inside the call can follow.

import type { Ending } from "../../contract/termination.ts";
import type { LoopState } from "../../state/loop-state.ts";

/** Steps that belong to one call. */
export type CallStep = "validation" | "approval" | "intent" | "agent" | "tool";

/** A call by its position in its turn. */
interface CallPlace {
  readonly index: number;
  readonly name: string;
}

/** The key of a step of the current pass. */
export function stepKey({ iteration, retry }: Pick<LoopState, "iteration" | "retry">, step: string): string {
  const place = `p${iteration}/${step}`;
  return retry === 0 ? place : `${retryKey(retry)}/${place}`;
}

/** The key of a step of one call of the current pass. */
export function callKey(state: Pick<LoopState, "iteration" | "retry">, step: CallStep, { index, name }: CallPlace): string {
  return stepKey(state, `${step}/${index}/${escapeName(name)}`);
}

/** The key of a step that is done again in one place; 0 is the first time. */
export function againKey(key: string, word: "resume" | "again" | "decision", count: number): string {
  return count === 0 ? key : `${key}/${word}${count}`;
}

/** The key under which the run records whether it is tried again. */
export function retryKey(retry: number): string {
  return `retry${retry}`;
}

/**
 * Names an ending by its place in the run, for records that are about one ending. With other limits a run may end in two ways in one
 * pass, before a stream of it or after one.
 */
export function endingKey(state: Pick<LoopState, "iteration" | "retry" | "streamResults">, { reason }: Ending): string {
  return stepKey(state, `${state.streamResults.length}/${reason.kind}`);
}

/** A tool's name may hold a slash. */
function escapeName(name: string): string {
  return name.replace(/[%/]/g, (character) => (character === "/" ? "%2F" : "%25"));
}
