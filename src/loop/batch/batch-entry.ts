// What is known of a call of a batch before the batch runs.

import type { ToolCall, ToolOutcome } from "../../contract/tool-outcome.ts";
import type { Prepared } from "../../stages/prepare-call.ts";

/** A ready call about which nobody has decided yet. */
export interface AwaitingCall {
  readonly kind: "awaiting";
  readonly call: ToolCall;
  /** The key of the step that will record the decision. */
  readonly key: string;
  /** Whether its tool is sequential: then the calls after it wait as well. */
  readonly isSequential: boolean;
}

/** A call that is over: it was started while the model spoke, or somebody has just refused it. */
export interface OverCall {
  readonly kind: "over";
  readonly outcome: ToolOutcome;
  /** Whether its end is of this execution, also where its pass was replayed. */
  readonly live: boolean;
  /** Whether listeners have heard of it. */
  readonly announced: boolean;
}

/** A call of a batch: one that may run, one that waits, one that is over, or the outcome of one that may not run. */
export type BatchEntry = Prepared | AwaitingCall | OverCall;
