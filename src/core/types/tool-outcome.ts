// Tool calls and their outcomes.

import type { ContentPart, Issue, JsonSchema, PlainError, Usage, UserPart } from "./common.ts";
import type { Json } from "./json.ts";

/** One difference between a recorded tool and the current tool of that name. */
export interface ToolChange {
  readonly toolName: string;
  readonly kind: ToolChangeKind;
  /** The argument that differs, such as `to.street` or `tags[]`; absent if the whole tool differs. */
  readonly field?: string | undefined;
  /** The old and the new value, if they can be named: a type, a limit, a text. */
  readonly was?: string | undefined;
  readonly now?: string | undefined;
}

/**
 * The kind of difference. The last three (`description-changed`, `default-changed`, `trait-changed`) could change a person's
 * decision, but never reject a run. A trait has changed if `needsApproval` was added or `idempotent` removed.
 */
export type ToolChangeKind =
  | "removed"
  /** The name now refers to another tool of its server. */
  | "source-changed"
  | "field-removed"
  | "required-field-added"
  | "type-changed"
  /** Another rule for a value, such as a lower `maximum` or fewer `enum` values. */
  | "constraint-changed"
  | "description-changed"
  | "default-changed"
  | "trait-changed";

/** A tool as the model saw it. Journals record it. */
export interface ShownTool {
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly origin?: string;
  /** "some" if a function decides which calls need a decision. */
  readonly needsApproval?: true | "some";
  readonly idempotent?: true;
}

/** One call as it came from the model. */
export interface ToolCall {
  /** Unique in the transcript. */
  readonly callId: string;
  /** The id that the provider gave, if any. */
  readonly providerCallId?: string | undefined;
  readonly name: string;
  readonly args: Json;
  /** The arguments as text, if the provider streamed text. */
  readonly argsText?: string | undefined;
  /** Why the arguments cannot be used: not JSON, or cut off. */
  readonly problem?: "malformed" | "truncated" | undefined;
}

/** A call that waits for a decision, or for its result. */
export interface WaitingCall {
  /**
   * The key of the call in `decisions`: the ids of the calls around it and its own id, joined by "/". If the call has waited
   * before, for a decision about an older version of its tool or for its approval, a number follows: `call_i0_0#2`.
   */
  readonly id: string;
  readonly callId: string;
  readonly name: string;
  readonly args: Json;
  /** "approval": it runs once it is approved. "result": it has run, and its result comes from outside. */
  readonly waitsFor: "approval" | "result";
  /** Changes of the tool since the last request for a decision. A decision about the old tool is not used. */
  readonly toolChanges?: readonly ToolChange[] | undefined;
}

/** The outcome of one call. Plain data. */
export type ToolOutcome = {
  readonly call: ToolCall;
  /** From dispatch to the end, in milliseconds; 0 if the call was not dispatched. */
  readonly durationMs: number;
  /** The arguments as an approval changed them. */
  readonly approvedArgs?: Json | undefined;
  /** The spending of runs inside the call. */
  readonly nested?: NestedSpending | undefined;
  /** Contents of messages to the control of the run inside the call that reached neither its model nor `toResult`. */
  readonly undelivered?: readonly (string | readonly UserPart[])[] | undefined;
} & (
  | {
      readonly kind: "completed";
      readonly data: Json;
      readonly content?: readonly ContentPart[] | undefined;
      readonly endTurn?: boolean | undefined;
      /** The value that the stash held under the result's `pending_context_key`. */
      readonly pendingContext?: Json | undefined;
      /** Results to leave out of later requests. Set by the tool of `createContextRelease`. */
      readonly release?: ContextRelease | undefined;
      /** Set if `data` requests a context restart. Only a result of `contextRestart` sets it, never the data itself. */
      readonly restart?: true | undefined;
    }
  /** The tool failed; `fatal` ends the run. */
  | { readonly kind: "failed"; readonly error: PlainError; readonly fatal?: boolean | undefined }
  | { readonly kind: "timed-out"; readonly limitMs: number }
  /** Blocked by the deliberate gate or by `toolChoice`. `allowed` lists at most 50 tools; `more` counts the others. */
  | {
      readonly kind: "blocked";
      readonly allowed: readonly string[];
      readonly more?: number | undefined;
      readonly by?: "tool-choice" | undefined;
    }
  | { readonly kind: "denied"; readonly reason?: string | undefined }
  /** `approve` or `needsApproval` threw, or took longer than `timeouts.approvalMs`. The model does not read `error`. */
  | { readonly kind: "approval-failed"; readonly error: PlainError }
  /** `known` lists at most 50 tools, and none once 200 were listed in the iteration; `more` counts the others. */
  | {
      readonly kind: "unknown-tool";
      readonly known: readonly string[];
      readonly more?: number | undefined;
      readonly nearest?: string | undefined;
    }
  | { readonly kind: "invalid-input"; readonly issues: readonly Issue[] }
  /** The arguments are not JSON; `message` is the parse error. */
  | { readonly kind: "malformed"; readonly message?: string | undefined }
  /**
   * `truncated`: cut off by a limit of the model. `interrupted`: may have run. `not-run`: never dispatched. `limit`: exceeded
   * `maxToolCalls`.
   */
  | { readonly kind: "truncated" | "interrupted" | "not-run" | "limit" }
  /** The tool has run, and its result comes later, from outside. Another outcome follows. */
  | { readonly kind: "deferred" }
);

/** Ids of calls whose results the model no longer needs, or "all" for those of all earlier iterations. */
export type ContextRelease = "all" | readonly string[];

/** The spending of the runs inside one call. */
export interface NestedSpending {
  readonly usage: Usage;
  /** USD; undefined if the cost of an iteration is unknown. */
  readonly costUSD: number | undefined;
  /** The known part of the cost, if `costUSD` is undefined. */
  readonly knownCostUSD?: number | undefined;
  readonly toolCallsExecuted: number;
}

/** The restart that a result of `contextRestart` requests. */
export interface ContextRestart {
  /** The text after `context_restart_`. */
  readonly suffix: string;
  /** Added to the context items. */
  readonly item?: Json | undefined;
  /** Tools to hide for the rest of the run. */
  readonly disableTools: readonly string[];
  /** Key of more context in the stash. */
  readonly pendingContextKey?: string | undefined;
  /** The value from the stash, also added to the context items. */
  readonly pendingContext?: Json | undefined;
}

/** One answered call, and its answer. Calls that were interrupted, never ran or restarted the context have no entry. */
export interface ToolHistoryEntry {
  readonly functionCall: { readonly id: string; readonly name: string; readonly args: Json };
  readonly functionResponse: { readonly name: string; readonly response: { readonly result: Json } };
  readonly outcome: ToolOutcome["kind"];
  /** Why there was no decision about the call, if its outcome is `approval-failed`. */
  readonly error?: PlainError | undefined;
  readonly iteration: number;
  readonly durationMs: number;
  readonly content?: readonly ContentPart[] | undefined;
  /** The text of the model in the same iteration. */
  readonly preToolText?: string | undefined;
}
