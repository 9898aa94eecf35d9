// What is known of a call of a batch before the batch runs.

import type { ToolOutcome } from "../../types/tool-outcome.ts";
import type { Prepared } from "../run/prepared-call.ts";
import type { AwaitingCall } from "../run/run.ts";

/** A call that is over: it was started while the model spoke, or somebody has just refused it. */
export interface OverCall {
  readonly kind: "over";
  readonly outcome: ToolOutcome;
  /** Whether its end is of this execution, also where its iteration was replayed. */
  readonly live: boolean;
  /** Whether listeners have heard of it. */
  readonly announced: boolean;
}

/** A call of a batch: one that may run, one that waits, one that is over, or the outcome of one that may not run. */
export type BatchEntry = Prepared | AwaitingCall | OverCall;
