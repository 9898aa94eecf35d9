// Declares the chunks of the UI message stream for AI SDK 5, 6 and 7 instead of importing them, because the types of `ai` differ between
// its versions. Tests check the chunks with all three validators.

import type { WaitingCall } from "../core/kit.ts";
import type { Json, JsonSchema, LoopEvents, LoopStatus, Usage } from "../core/index.ts";

type CallSummary = LoopEvents["iteration-end"]["calls"][number];
type ToolQuestion = NonNullable<WaitingCall["question"]>;

/** The major version of the `ai` package that the page uses. */
export type UIVersion = 5 | 6 | 7;

/**
 * One chunk of a UI message stream. `Version` is the major version of the `ai` package that the page uses. The type can be assigned to the
 * `UIMessageChunk` of that version. Default: all three versions.
 */
export type UIMessageChunk<Version extends UIVersion = UIVersion> =
  | UICommonChunk
  | { readonly type: "finish"; readonly finishReason: UIFinishReason<Version>; readonly messageMetadata?: UIMessageMetadata }
  | (Version extends 6 | 7 ? UIApprovalChunk : never)
  | (Version extends 7 ? UILatestChunk : never);

/** The chunks of all versions of the AI SDK, except `finish`. */
export type UICommonChunk =
  | { readonly type: "start"; readonly messageId: string; readonly messageMetadata?: unknown }
  | { readonly type: "message-metadata"; readonly messageMetadata: UIMessageMetadata }
  | { readonly type: "abort"; readonly reason?: string }
  | { readonly type: "error"; readonly errorText: string }
  | { readonly type: "start-step" | "finish-step" }
  | { readonly type: "text-start"; readonly id: string; readonly providerMetadata?: UIEmittedMark }
  | { readonly type: "text-end" | "reasoning-start" | "reasoning-end"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | { readonly type: "tool-input-start"; readonly toolCallId: string; readonly toolName: string }
  | { readonly type: "tool-input-delta"; readonly toolCallId: string; readonly inputTextDelta: string }
  /** The complete arguments of a call. Sent again with `providerExecuted` if a decision edited the arguments. */
  | {
      readonly type: "tool-input-available";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: Json;
      readonly providerExecuted?: true;
    }
  | ({
      readonly type: "tool-input-error";
      readonly toolName: string;
      readonly input: Json;
      readonly errorText: string;
    } & UIExecuted)
  | ({ readonly type: "tool-output-available"; readonly output: Json; readonly preliminary?: true } & UIExecuted)
  | ({ readonly type: "tool-output-error"; readonly errorText: string } & UIExecuted)
  | UIDataChunk;

/** The chunks that only versions 6 and 7 of the AI SDK have. */
export type UIApprovalChunk =
  | { readonly type: "tool-output-denied"; readonly toolCallId: string }
  /** `isAutomatic` is true if the decision was made without a person. */
  | {
      readonly type: "tool-approval-request";
      readonly approvalId: string;
      readonly toolCallId: string;
      readonly isAutomatic?: true;
    };

/** The chunks that only version 7 of the AI SDK has. */
export type UILatestChunk =
  /** Removes all parts of the current step from the page. */
  | { readonly type: "reset-step" }
  | { readonly type: "tool-approval-response"; readonly approvalId: string; readonly approved: boolean; readonly reason?: string }
  | { readonly type: "steering-message"; readonly id: string; readonly parts: UIUserPart[] };

/**
 * Marks an outcome that the server sent. The page sends the mark back in its next request, so the server knows that this outcome
 * is not a result from the page.
 */
export interface UIExecuted {
  readonly toolCallId: string;
  readonly providerExecuted: true;
}

/**
 * The data chunks of a UI message stream. `useChat` passes transient chunks only to `onData`, and adds other chunks to the
 * message as parts.
 */
export type UIDataChunk =
  | { readonly type: "data-notice"; readonly transient: true; readonly data: { readonly kind: string } }
  | { readonly type: "data-masked"; readonly transient: true; readonly data: UIMasked }
  | { readonly type: "data-compaction"; readonly transient: true; readonly data: UICompaction }
  | { readonly type: "data-cost"; readonly transient: true; readonly data: UICost }
  /** A user message that was sent to the live run (steering), for pages that use version 5 or 6 of the AI SDK. */
  | { readonly type: "data-steered"; readonly id: string; readonly data: { readonly parts: readonly UIUserPart[] } }
  /** A question from a tool to the user. */
  | { readonly type: "data-question"; readonly id: string; readonly data: UIQuestion }
  /** Middleware or a durable tool that is waiting for an answer that the page may send. */
  | { readonly type: "data-wait"; readonly id: string; readonly data: UIWait }
  /** A call that is waiting for a decision, for pages that use version 5 of the AI SDK. */
  | { readonly type: "data-approval"; readonly id: string; readonly data: UIApproval }
  /** Data that a tool emitted. `id` contains the tool call's id. */
  | { readonly type: `data-${string}`; readonly id?: string; readonly data: Json }
  /** Marks the earlier text of this step as discarded, for pages that use version 5 or 6 of the AI SDK, which cannot remove a part. */
  | { readonly type: "data-attempt-discarded"; readonly id: string; readonly data: { readonly iteration: number } };

/** Marks a text part that a tool emitted. Text from the model has no mark. */
export type UIEmittedMark = { readonly turnwright: { readonly toolCallId: string } };

/** A question that a tool asked with `ask`. */
export interface UIQuestion extends ToolQuestion {
  /**
   * The key of the answer in the request's `answers` field. For a question with `isLive`, the id for `control.answer` or
   * `host.answer`.
   */
  readonly questionId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  /** True if the tool is waiting in the run's process, because it asked with `wait: true`. */
  readonly isLive: boolean;
  /** True if the page may answer. */
  readonly fromPage: boolean;
  /** How a live question ended. Set when it is over. */
  readonly answer?: "result" | "failed" | "withdrawn" | undefined;
}

/** The answer that middleware or a durable tool is waiting for, with `fromPage: true`. */
export interface UIWait {
  /** The key of the answer in the request's `answers` field. */
  readonly waitId: string;
  /** The reason and the facts, as passed to `wait`. */
  readonly what: string;
  readonly facts: Json;
  /** The JSON Schema of the answer. Absent if there is no schema, or if it cannot be converted. */
  readonly schema?: JsonSchema | undefined;
  /** The waiting call. Absent if the waiting middleware wraps a request or the end of the run. */
  readonly toolCallId?: string;
  readonly toolName?: string;
}

/** The tool results that are omitted from later requests to the model. */
export interface UIMasked {
  /** The `toolCallId` of each omitted result. */
  readonly toolCallIds: readonly string[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** The state of a compaction, which replaces old messages in requests with a summary. The token counts are estimates for one request. */
export type UICompaction =
  | { readonly state: "started"; readonly cause: "due" | "forced" }
  | { readonly state: "compacted" | "failed"; readonly tokensBefore: number; readonly tokensAfter: number };

/** The usage and the cost of the run so far. */
export interface UICost {
  /** The number of model streams that have ended. */
  readonly streams: number;
  readonly usage: Usage;
  /** The cost in USD. Absent if a stream's cost is unknown. */
  readonly costUSD?: number | undefined;
}

/** A call that is waiting for a decision, for pages that use version 5 of the AI SDK. */
export interface UIApproval {
  readonly approvalId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Json;
  /** The decision. Absent while the call is waiting. */
  readonly decision?: "approve" | "deny" | "modify" | "failed" | undefined;
}

/** A part of a user message. */
export type UIUserPart = { type: "text"; text: string } | { type: "file"; mediaType: string; url: string; filename?: string };

/** A finish reason of the AI SDK. "interrupted" exists only in version 7. */
export type UIFinishReason<Version extends UIVersion = UIVersion> =
  | "stop"
  | "length"
  | "content-filter"
  | "tool-calls"
  | "error"
  | "other"
  | (Version extends 7 ? "interrupted" : never);

/**
 * The metadata of a UI message after its run has ended. While a resumed run is working, a page with `from: "live"` gets the status
 * "running" and a reason of kind "running".
 */
export interface UIMessageMetadata {
  readonly status: LoopStatus;
  readonly reason: UIReason;
  /** The token usage of the run, including nested runs. */
  readonly usage: Usage;
  /** The cost in USD. Absent if an iteration's cost is unknown. */
  readonly costUSD?: number | undefined;
  readonly [field: string]: unknown;
}

/** The end reason of a run, without error messages, notes and other text. */
export interface UIReason {
  /** The `kind` of the run's end reason, such as "answered" or "approval-required". */
  readonly kind: string;
  readonly [field: string]: unknown;
}

/** The preliminary output of a tool call that has nested runs, such as a call to an agent tool. */
export interface UINestedProgress {
  readonly runs: readonly UINestedRun[];
  /** The most recent value that the tool passed to `context.progress`. */
  readonly progress?: Json;
}

/** One nested run. */
export interface UINestedRun {
  /** The ids of the tool calls that the run is nested in, outermost first. */
  readonly path: readonly string[];
  /** The text so far. */
  readonly text: string;
  readonly calls: readonly UINestedCall[];
  readonly status: LoopStatus | "running";
}

/** One tool call of a nested run. */
export interface UINestedCall {
  readonly callId: string;
  readonly name: string;
  readonly state: CallSummary["outcome"] | "running";
}
