// Tool calls and their outcomes.

import type { ContentPart, Issue, JsonSchema, PlainError, Usage, UserPart } from "./common.ts";
import type { Json } from "./json.ts";

/** One difference between a tool as a run knew it and the tool of that name now. */
export interface ToolChange {
  readonly toolName: string;
  readonly kind: ToolChangeKind;
  /** The argument that differs, such as `to.street` or `tags[]`; absent when the whole tool does. */
  readonly field?: string | undefined;
  /** Before and now, where a word says it: a type, a limit, a text. */
  readonly was?: string | undefined;
  readonly now?: string | undefined;
}

/**
 * The kind of difference. The last three change what a person would decide, and never refuse a run: a description, a default value, and a trait
 * (`needsApproval` added, `idempotent` removed).
 */
export type ToolChangeKind =
  | "removed"
  /** The name now stands for another tool of its server. */
  | "source-changed"
  | "field-removed"
  | "required-field-added"
  | "type-changed"
  /** Another rule for a value, such as a lower `maximum` or fewer `enum` values. */
  | "constraint-changed"
  | "description-changed"
  | "default-changed"
  | "trait-changed";

/** A tool as it was shown. Journals keep it. */
export interface ShownTool {
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly origin?: string;
  /** "some" where a function says which calls need a decision. */
  readonly needsApproval?: true | "some";
  readonly idempotent?: true;
}

/** One call as it came from the model. */
export interface ToolCall {
  /** Unique in the transcript. */
  readonly callId: string;
  /** The id that the provider gave, where it gave one. */
  readonly providerCallId?: string | undefined;
  readonly name: string;
  readonly args: Json;
  /** The arguments as text, where the provider streamed text. */
  readonly argsText?: string | undefined;
  /** Why the arguments cannot be trusted: not JSON, or cut off. */
  readonly problem?: "malformed" | "truncated" | undefined;
}

/** A call that waits for a decision. */
export interface PendingApproval {
  /**
   * Its name in `decisions`: its call id, after those of the calls that it is inside of, with "/" between. If somebody was asked anew,
   * because the tool had changed, the number of the question follows: `call_i0_0#2`.
   */
  readonly id: string;
  readonly callId: string;
  readonly name: string;
  readonly args: Json;
  /** Changes of its tool since it was last asked about. A decision about the tool as it was is not used. */
  readonly toolChanges?: readonly ToolChange[] | undefined;
}

/** The outcome of one call. Plain data. */
export type ToolOutcome = {
  readonly call: ToolCall;
  /** From dispatch to the end, in milliseconds; 0 where nothing was dispatched. */
  readonly durationMs: number;
  /** The arguments as an approval changed them. */
  readonly approvedArgs?: Json | undefined;
  /** The spending of runs inside the call. */
  readonly nested?: NestedSpending | undefined;
  /** Contents of messages to the control of the run inside the call that neither its model nor `toResult` was given. */
  readonly undelivered?: readonly (string | readonly UserPart[])[] | undefined;
} & (
  | {
      readonly kind: "completed";
      readonly data: Json;
      readonly content?: readonly ContentPart[] | undefined;
      readonly endTurn?: boolean | undefined;
      /** The value that the stash held under the result's `pending_context_key`. */
      readonly pendingContext?: Json | undefined;
      /** Results that are not to be sent any more. Set by the tool of `createContextRelease`. */
      readonly release?: ContextRelease | undefined;
      /** Set if `data` asks for a context restart. Only an answer of `contextRestart` sets it, never the data itself. */
      readonly restart?: true | undefined;
    }
  /** The tool failed; `fatal` ends the run. */
  | { readonly kind: "failed"; readonly error: PlainError; readonly fatal?: boolean | undefined }
  | { readonly kind: "timed-out"; readonly limitMs: number }
  /** The deliberate gate did not let it through, or `toolChoice` did not. `allowed` lists at most 50 tools; there are `more` of them. */
  | {
      readonly kind: "blocked";
      readonly allowed: readonly string[];
      readonly more?: number | undefined;
      readonly by?: "tool-choice" | undefined;
    }
  | { readonly kind: "denied"; readonly reason?: string | undefined }
  /** `approve` or `needsApproval` threw, or took longer than `timeouts.approvalMs`. The model does not read `error`. */
  | { readonly kind: "approval-failed"; readonly error: PlainError }
  /** `known` lists at most 50 tools, and none once 200 were listed in the iteration; there are `more` of them. */
  | {
      readonly kind: "unknown-tool";
      readonly known: readonly string[];
      readonly more?: number | undefined;
      readonly nearest?: string | undefined;
    }
  | { readonly kind: "invalid-input"; readonly issues: readonly Issue[] }
  /** The arguments are not JSON; `message` is the parse error. */
  | { readonly kind: "malformed"; readonly message?: string | undefined }
  /** `truncated`: cut off by a limit of the model. `interrupted`: may have run. `not-run`: never dispatched. `limit`: past `maxToolCalls`. */
  | { readonly kind: "truncated" | "interrupted" | "not-run" | "limit" }
);

/** Ids of calls whose results the model has done with, or all of the iterations before. */
export type ContextRelease = "all" | readonly string[];

/** The spending of the runs inside one call. */
export interface NestedSpending {
  readonly usage: Usage;
  /** USD; undefined where the cost of an iteration is unknown. */
  readonly costUSD: number | undefined;
  /** The part of the cost that is known, where `costUSD` is not. */
  readonly knownCostUSD?: number | undefined;
  readonly toolCallsExecuted: number;
}

/** The requests to the loop in an answer of `contextRestart`. */
export interface ContextRestart {
  /** The text after `context_restart_`. */
  readonly suffix: string;
  /** Joins the context items. */
  readonly item?: Json | undefined;
  /** Tools that are hidden for the rest of the run. */
  readonly disableTools: readonly string[];
  /** Names more context in the stash. */
  readonly pendingContextKey?: string | undefined;
  /** The value from the stash; it joins the context items too. */
  readonly pendingContext?: Json | undefined;
}

/** One call that was answered, and its answer. Calls that were interrupted, never ran or restarted the context have no entry. */
export interface ToolHistoryEntry {
  readonly functionCall: { readonly id: string; readonly name: string; readonly args: Json };
  readonly functionResponse: { readonly name: string; readonly response: { readonly result: Json } };
  readonly outcome: ToolOutcome["kind"];
  /** Why nobody could decide about the call, when its outcome is `approval-failed`. */
  readonly error?: PlainError | undefined;
  readonly iteration: number;
  readonly durationMs: number;
  readonly content?: readonly ContentPart[] | undefined;
  /** The text of the model in the same iteration. */
  readonly preToolText?: string | undefined;
}
