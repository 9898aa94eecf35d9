// What is known of a call of a batch before the batch runs.

import type { ToolCall, ToolOutcome } from "../contract/tool-outcome.ts";
import type { Prepared } from "../stages/prepare-call.ts";

/** A call that is ready, but for a decision that nobody has taken yet. */
export interface AwaitingCall {
  readonly kind: "awaiting";
  readonly call: ToolCall;
  /** Of the step that the decision will be. */
  readonly key: string;
  /** Whether what is behind the call waits with it. */
  readonly isSequential: boolean;
}

/** A call that is over: it was started while the model spoke, or somebody has just refused it. */
export interface OverCall {
  readonly kind: "over";
  readonly outcome: ToolOutcome;
  /** Whether its end is of this execution, also where its pass was recalled. */
  readonly live: boolean;
  /** Whether listeners have heard of it. */
  readonly announced: boolean;
}

/** A call of a batch: one that may run, one that waits, one that is over, or the outcome of one that may not run. */
export type BatchEntry = Prepared | AwaitingCall | OverCall;
