// The results of the steps of a run, as the journal records them.

import type { Issue, Json, PlainError, Usage } from "../../types/common.ts";
import type { UserMessage } from "../../types/message.ts";
import type { CompactionAnswer } from "../../types/policies.ts";
import type { GuardrailRecord } from "../../types/guardrails.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { Ending, EndReason } from "../../types/termination.ts";
import type { ContextRestart, ToolChange, ToolOutcome } from "../../types/tool-outcome.ts";

/** The kind of the newest step, or "start" before the first step. */
export type Phase = "start" | StepResult["kind"];

/**
 * A message that was sent to a run. `verb` is "steer" for a message to the model, and "interrupt" for a message that ends the
 * run. `verb` is "keep" for a message that is only returned in the result.
 */
export interface InboxMessage {
  readonly verb: "steer" | "interrupt" | "keep";
  readonly message: UserMessage;
}

/**
 * The result of an inbox step: everything that arrived from outside the run. A replay uses the recorded result instead of the
 * live control, so that the run makes the same decisions.
 */
export interface InboxAnswer {
  /** The time of the run's clock, in milliseconds. */
  readonly now: number;
  /** The id of the execution that ran the step. Times from different executions cannot be compared. */
  readonly token: string;
  /** Set if the run was stopped, killed or aborted, or if a time limit of the run or an outer run has expired. */
  readonly ended?: Ending | undefined;
  /** Set if a spending limit of an outer run is reached. */
  readonly spentOutside?: Extract<EndReason, { kind: "max-tokens" | "max-cost" | "cost-unknown" }> | undefined;
  /** The messages that were sent to the control after the inbox was last read, in order. */
  readonly messages?: readonly InboxMessage[] | undefined;
  readonly drain?: true | undefined;
  /** The option `version` of this execution. Set only if this version differs from the recorded version. */
  readonly codeVersion?: string | undefined;
  /** The iterations that are new in the set `force` of `maskResults`. */
  readonly force?: readonly number[] | undefined;
  /**
   * Set if old messages are summarized before the next request. The value is "due" if the context is nearly full, and "forced"
   * if the service refused the newest request as too long.
   */
  readonly compact?: "due" | "forced" | undefined;
  /**
   * The key of the ending that was about to follow when the inbox was read. Undefined for a reading before an iteration. A record
   * with the key of another ending is out of date.
   */
  readonly before?: string | undefined;
  /**
   * The ending that was about to follow when the inbox was read. `after` is the phase before the reading. Code that reads a
   * journal needs both fields, because the journal does not contain the limits.
   */
  readonly ending?: Ending | undefined;
  readonly after?: Phase | undefined;
  /** True if the run continued after this reading instead of ending, because of a message sent with `steer`. */
  readonly goesOn?: true | undefined;
}

/** The result of a hook step. */
export type HookAnswer =
  | { readonly kind: "continue" }
  | { readonly kind: "abort"; readonly reason?: string | undefined }
  | { readonly kind: "failed"; readonly error: PlainError };

/** The result of the output validation: the value, the issues, or the ending if the validation could not be completed. */
export type OutputAnswer =
  | { readonly kind: "valid"; readonly value: Json }
  | { readonly kind: "invalid"; readonly issues: readonly Issue[] }
  | { readonly kind: "ended"; readonly ending: Ending };

/** The recorded decision after an ending: to retry, or not to retry. */
export interface ReopenAnswer {
  readonly reopen: boolean;
  /** The key of the ending to retry. A decision about another ending is out of date. */
  readonly before: string;
  readonly now: number;
  readonly token: string;
}

/** One finished or waiting call, with its effects on the run. */
export interface SettledCall {
  readonly outcome: ToolOutcome;
  readonly restart?: ContextRestart | undefined;
  /** The text that the model gets instead of the result. Undefined unless `policies.results` has changed the result. */
  readonly textForModel?: string | undefined;
  /** The usage and the cost in USD of the extractor in `policies.results`. `costUSD` is undefined if the cost is unknown. */
  readonly extraction?: { readonly usage: Usage; readonly costUSD: number | undefined } | undefined;
  /** True if the model need not answer after this tool. Undefined if the tool has no `requiresFollowUp`. */
  readonly needsNoFollowUp?: boolean | undefined;
  /** True if the tool has `polls`, so that equal results are not a loop. */
  readonly polls?: true | undefined;
  /** The id for the option `decisions`, set while the call waits. With the outcome "deferred", the call waits for its result. */
  readonly awaiting?: string | undefined;
  /** The changes to the tool after the last request for a decision. */
  readonly toolChanges?: readonly ToolChange[] | undefined;
  /** The ending of the call's nested run, if that run is suspended. The call continues when the run is resumed. */
  readonly suspended?: Ending | undefined;
}

/** The result of one step, which `applyStep` adds to the state. */
export type StepResult =
  | { readonly kind: "inbox"; readonly answer: InboxAnswer }
  /** Adds the messages sent with `steer` to the transcript. */
  | { readonly kind: "steer" }
  | { readonly kind: "compaction"; readonly answer: CompactionAnswer }
  /** `checked` contains the records of the request's input checks. Undefined if the request had no input check. */
  | {
      readonly kind: "model";
      readonly result: StreamResult;
      readonly checked?: readonly GuardrailRecord[] | undefined;
      readonly finalAnswerTo?: Ending | undefined;
    }
  /** `loop` is the loop about which the model is warned after the results. */
  | { readonly kind: "batch"; readonly settled: readonly SettledCall[]; readonly loop?: Repeats | undefined }
  /** `complaint` is the message to the model that requests a new answer. */
  | { readonly kind: "output"; readonly answer: OutputAnswer; readonly complaint?: string | undefined }
  | { readonly kind: "hook"; readonly answer: HookAnswer }
  /** The last reading of the inbox before an ending. */
  | { readonly kind: "last-look"; readonly answer: InboxAnswer; readonly ending: Ending; readonly attempt?: number | undefined }
  | { readonly kind: "reopen"; readonly answer: ReopenAnswer; readonly attempt: number }
  /** Continues the run after a recorded suspension. */
  | { readonly kind: "resume" };

/** A repeated sequence of iterations, and how often it occurred. */
export interface Repeats {
  /** The number of iterations in the sequence. */
  readonly cycle: number;
  readonly count: number;
}
