// The counts of repeated iterations: of identical calls with identical results, and of the sequences that `detectLoops` looks for.

import type { ToolResultPart } from "../../types/message.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";

/** The calls of the last iteration, and the number of consecutive iterations that are identical to it. */
export interface IdenticalCalls {
  readonly outcomes: readonly ToolOutcome[];
  /** The number of identical iterations. It is 0 if a call did not succeed. */
  readonly count: number;
}

/** A repeated sequence of iterations, and how often it occurred. */
export interface Repeats {
  /** The number of iterations in the sequence. */
  readonly cycle: number;
  readonly count: number;
}

/** Counts repeated calls; created by `detectLoops`. Immutable: each method returns a new object. */
export interface Repetition {
  /** Starts counting again, without any earlier iterations. */
  restart(): Repetition;
  /**
   * Counts one more iteration. The order of calls and argument keys has no effect. An iteration without calls resets the count.
   */
  countCalls(calls: readonly ToolCall[]): Repetition;
  /** Adds the results of the last iteration. With `compareResults`, iterations with different results are not repetitions. */
  noteResults(calls: readonly ToolCall[], results: readonly ToolResultPart[]): Repetition;
  /** True if the last iteration equals the iteration `cycle` positions before. */
  repeats(cycle: number): boolean;
  /**
   * Returns the shortest sequence that has now occurred `threshold` times in a row, or a multiple of `threshold` times. A
   * sequence that itself consists of repetitions is not reported: A A A A counts as four times A, not as twice A A.
   */
  findRepeats(threshold: number): Repeats | undefined;
}
