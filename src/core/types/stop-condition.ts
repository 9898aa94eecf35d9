import type { StreamResult } from "./stream-result.ts";
import type { ToolOutcome } from "./tool-outcome.ts";
import type { Usage } from "./usage.ts";

/** Asked about each response before its calls run. One that throws, answers something else or takes longer than `hookMs` ends the run. */
export type StopCondition = (context: StopContext) => boolean | StopDecision | PromiseLike<boolean | StopDecision>;

/** The answer of a stop condition; `true` and `false` say the same without a reason. */
export type StopDecision =
  | { readonly kind: "continue" }
  /** `reason` is for whoever reads the result. */
  | { readonly kind: "stop"; readonly reason?: string | undefined };

/** What a stop condition may look at. */
export interface StopContext {
  /** The number of this iteration, from 1. */
  readonly iteration: number;
  /** What the model said. Where its turn came in several streams: the last one, with the text, reasoning and calls of all. */
  readonly response: StreamResult;
  /** Of all streams and nested runs so far, this response included. */
  readonly totalUsage: Usage;
  /** USD so far, this response included; undefined where unknown. */
  readonly costUSD: number | undefined;
  /** Calls that earlier iterations have dispatched. */
  readonly toolCallsExecuted: number;
  /** What became of the calls of the last batch, in call order. */
  readonly lastToolResults: readonly ToolOutcome[];
}
