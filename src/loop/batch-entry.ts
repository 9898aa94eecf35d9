// What is known of a call of a batch before the batch runs.

import type { ToolCall, ToolOutcome } from "../contract/tool-outcome.ts";
import type { Prepared } from "../stages/prepare-call.ts";

/** A call that is ready, but for a decision that nobody has taken yet. */
export interface AwaitingCall {
  readonly kind: "awaiting";
  readonly call: ToolCall;
  /** Of the step that the decision will be. */
  readonly key: string;
}

/** A call that was started while the model spoke, and is over. */
interface EarlyCall {
  readonly kind: "early";
  readonly outcome: ToolOutcome;
}

/** A call that somebody has refused in this execution: nobody has heard of that, also where its pass was recalled. */
interface RefusedCall {
  readonly kind: "refused";
  readonly outcome: ToolOutcome;
}

/** A call of a batch. */
export type BatchEntry = Prepared | AwaitingCall | EarlyCall | RefusedCall;
