import type { ContentPart, Issue, Json, JsonSchema, PlainError, Usage, UserPart } from "./common.ts";
import type { DenyingGuardrail } from "./guardrails.ts";

/** One difference between a recorded tool and the current tool with the same name. */
export interface ToolChange {
  readonly toolName: string;
  readonly kind: ToolChangeKind;
  /** The argument that differs, such as `to.street` or `tags[]`. Absent if the difference does not concern a single argument. */
  readonly field?: string | undefined;
  /**
   * The value before the change, such as a type or a limit. `now` is the value after the change. Either field is absent if there is no such
   * value, or if this `kind` of change has no values.
   */
  readonly was?: string | undefined;
  readonly now?: string | undefined;
}

/**
 * The kind of difference. `description-changed`, `default-changed` and `trait-changed` never cause an error, but may matter to
 * a person who decides about a call. `trait-changed` means that `needsApproval` was added or `idempotent` was removed.
 */
export type ToolChangeKind =
  | "removed"
  /** The name now belongs to a tool with a different `origin`. */
  | "source-changed"
  | "field-removed"
  | "required-field-added"
  | "type-changed"
  /** The rules for a value have changed, for example a lower `maximum` or fewer `enum` values. */
  | "constraint-changed"
  | "description-changed"
  | "default-changed"
  | "trait-changed";

/** A tool as the model saw it, in the form that journals record. */
export interface ShownTool {
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly origin?: string;
  /** True if every call needs a decision. "some" if a function decides which calls need a decision. */
  readonly needsApproval?: true | "some";
  readonly idempotent?: true;
  /** True if repeated calls are expected. Recorded, like `requiresFollowUp`, so that a replay continues or ends in the same way. */
  readonly polls?: true;
  readonly requiresFollowUp?: boolean;
}

/** One tool call as the model made it. */
export interface ToolCall {
  /** The id of the call, which is unique in the transcript. */
  readonly callId: string;
  /** The id from the provider, if there is one. */
  readonly providerCallId?: string | undefined;
  readonly name: string;
  readonly args: Json;
  /** The arguments as text, if the provider streamed them as text. */
  readonly argsText?: string | undefined;
  /** The reason why the arguments cannot be used: "malformed" if they are not JSON, and "truncated" if they were cut off. */
  readonly problem?: "malformed" | "truncated" | undefined;
}

/** A question that a tool asked with `ask`, as JSON data. */
export interface ToolQuestion {
  readonly text: string;
  /** The JSON Schema of the answer. `{ type: "string" }` if the tool provided no schema. */
  readonly schema: JsonSchema;
  /** The issues with the previous answer, if the same question was asked before and that answer did not match the schema. */
  readonly issues?: readonly Issue[] | undefined;
}

/** A call that is waiting for a decision or for its result. */
export interface WaitingCall {
  /**
   * The key of the call in `answers`: the ids of the outer calls and of the call itself, joined with "/". If the call has waited before,
   * for example for its approval or for the answer to a different question, a number follows, as in `call_i0_0#2`.
   */
  readonly id: string;
  readonly callId: string;
  /** The name of the tool. Empty if middleware is waiting during a model request or at the end of a run. */
  readonly name: string;
  /** The arguments of the call. If middleware is waiting, the arguments that its hook received. */
  readonly args: Json;
  /**
   * "approval": the tool runs after the call is approved. "result": the tool has already run or has no `execute`, and the result
   * comes from outside. "answer": middleware or a durable tool is waiting with `wait(what, facts)`.
   */
  readonly waitsFor: "approval" | "result" | "answer";
  /** The kind of wait, as middleware or a durable tool passed it to `wait`. Only for "answer". */
  readonly what?: string | undefined;
  /** The `facts` passed to `wait`. Only for "answer". */
  readonly facts?: Json | undefined;
  /** The schema of the answer, if the wait has one that can be converted to JSON Schema. Only for "answer". */
  readonly schema?: JsonSchema | undefined;
  /** The time, in milliseconds since 1970, after which the run itself answers the wait with null. Only for "answer". */
  readonly until?: number | undefined;
  /**
   * True if a web page may send the result or the answer: the tool has no `execute`, or `fromPage: true` was passed to `defer`, `ask` or
   * `wait`.
   */
  readonly fromPage?: true | undefined;
  /** The question, if the tool asked one with `ask`. The call's result is then the answer to this question. */
  readonly question?: ToolQuestion | undefined;
  /**
   * The changes to the tool since a decision was last requested. A decision about the unchanged tool does not apply to the
   * changed tool.
   */
  readonly toolChanges?: readonly ToolChange[] | undefined;
}

/** The outcome of one call, as JSON data. */
export type ToolOutcome = {
  readonly call: ToolCall;
  /** The time from the start to the end of the call, in milliseconds. 0 if the call was not started. */
  readonly durationMs: number;
  /** The arguments that an approval decision set in place of the model's arguments. */
  readonly approvedArgs?: Json | undefined;
  /** The usage and the cost of the nested runs in the call. */
  readonly nested?: NestedSpending | undefined;
  /** The messages to the nested run that were neither sent to its model nor passed to `toResult`. */
  readonly undelivered?: readonly (string | readonly UserPart[])[] | undefined;
} & (
  | {
      readonly kind: "completed";
      readonly data: Json;
      readonly content?: readonly ContentPart[] | undefined;
      readonly endTurn?: boolean | undefined;
      /** The stash item whose key is the result's `pending_context_key`. */
      readonly pendingContext?: Json | undefined;
      /** The results to remove from later requests. Set by the tool from `createContextRelease`. */
      readonly release?: ContextRelease | undefined;
      /** The names of deferred tools to show the model, starting with the next request. Set by the tool from `withToolSearch`. */
      readonly load?: readonly string[] | undefined;
      /** The agent that the run continues as, and the reason. Set by a tool from `createHandoffs`. */
      readonly handoff?: Pick<Handoff, "to" | "reason"> | undefined;
      /** True if the tool returned a result from `contextRestart`. Other data with the same fields has no such effect. */
      readonly restart?: true | undefined;
    }
  /**
   * The tool has failed. If `fatal` is true, the failure ends the run. The model also receives `data` and `content`, which come from the
   * `toolResult`.
   */
  | {
      readonly kind: "failed";
      readonly error: PlainError;
      readonly data?: Json | undefined;
      readonly content?: readonly ContentPart[] | undefined;
      readonly fatal?: boolean | undefined;
    }
  | { readonly kind: "timed-out"; readonly limitMs: number }
  /** Deliberate mode or `toolChoice` blocked the call. `allowed` lists at most 50 tools, and `more` is the number left out. */
  | {
      readonly kind: "blocked";
      readonly allowed: readonly string[];
      readonly more?: number | undefined;
      readonly by?: "tool-choice" | undefined;
    }
  | { readonly kind: "denied"; readonly reason?: string | undefined; readonly guardrail?: DenyingGuardrail | undefined }
  /** `approve` or `needsApproval` threw an error or took longer than `timeouts.approvalMs`. The model does not receive `error`. */
  | { readonly kind: "approval-failed"; readonly error: PlainError }
  /**
   * The model has called an unknown tool. `known` lists at most 50 tools, and `more` is the number left out. `known` is
   * empty if 200 tools were already listed in the same iteration.
   */
  | {
      readonly kind: "unknown-tool";
      readonly known: readonly string[];
      readonly more?: number | undefined;
      readonly nearest?: string | undefined;
    }
  | { readonly kind: "invalid-input"; readonly issues: readonly Issue[] }
  /** The arguments are not JSON. `message` is the parser's error. */
  | { readonly kind: "malformed"; readonly message?: string | undefined }
  /**
   * `truncated`: the model's output limit cut off the call's text, so the call did not run. `interrupted`: the call was cut off, and the
   * tool may have run. `limit`: the call exceeded `limits.maxToolCalls`.
   */
  | { readonly kind: "truncated" | "interrupted" | "limit" }
  /** The run ended before the call started. */
  | { readonly kind: "not-run" }
  /**
   * The tool has run, and its result comes later, from outside. Another outcome follows. `question` is an unanswered question that the tool
   * asked. Only `runTool` sets it, because such a call in a run waits without an outcome.
   */
  | { readonly kind: "deferred"; readonly fromPage?: true | undefined; readonly question?: ToolQuestion | undefined }
);

/** The ids of the calls whose results the model no longer needs, or "all" for all calls in earlier iterations. */
export type ContextRelease = "all" | readonly string[];

/** One handoff: the run continued as another agent. */
export interface Handoff {
  /** The agent that handed off. `to` is the agent that took over. */
  readonly from: string;
  readonly to: string;
  /** The reason that the model gave. */
  readonly reason?: string | undefined;
  /** The number of the iteration that made the call, counted from 0, and the id of the call. */
  readonly iteration: number;
  readonly callId: string;
  /** The number of messages in the transcript before the new agent began. The agent's `history` filter applies to these messages. */
  readonly messagesBefore: number;
}

/** The usage and the cost of the nested runs in one call. */
export interface NestedSpending {
  readonly usage: Usage;
  /** The cost in USD. Undefined if the cost of any iteration is unknown. */
  readonly costUSD: number | undefined;
  /** The sum of the known costs in USD, if `costUSD` is undefined. */
  readonly knownCostUSD?: number | undefined;
  readonly toolCallsExecuted: number;
}

/** The context restart that a tool result requests, as read from the fields that `contextRestart` sets. */
export interface ContextRestart {
  /** The part of the restart type after `context_restart_`. */
  readonly suffix: string;
  /** The item that is added to the context items. */
  readonly item?: Json | undefined;
  /** The names of the tools to hide for the rest of the run. */
  readonly disableTools: readonly string[];
  /** The key of an item in the stash. */
  readonly pendingContextKey?: string | undefined;
  /** The item from the stash. It is also added to the context items. */
  readonly pendingContext?: Json | undefined;
}

/** One call and its result. Calls that were interrupted, never ran or restarted the context have no entry. */
export interface ToolHistoryEntry {
  readonly functionCall: { readonly id: string; readonly name: string; readonly args: Json };
  readonly functionResponse: { readonly name: string; readonly response: { readonly result: Json } };
  readonly outcome: ToolOutcome["kind"];
  /** The arguments that an approval decision or a check set in place of `args`. */
  readonly approvedArgs?: Json | undefined;
  /** True if a stage of `processResults` changed the result. */
  readonly processed?: true | undefined;
  /** The reason why there was no decision about the call, if its outcome is `approval-failed`. */
  readonly error?: PlainError | undefined;
  readonly iteration: number;
  readonly durationMs: number;
  readonly content?: readonly ContentPart[] | undefined;
  /** The text that the model wrote in the same iteration. */
  readonly preToolText?: string | undefined;
  /** True if the tool set `endTurn` to end the run. */
  readonly endTurn?: true | undefined;
}
