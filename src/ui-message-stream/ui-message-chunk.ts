// The chunks of the UI message stream, as the clients of AI SDK 5, 6 and 7 read them. Declared here, because each major of `ai`
// has other types. Tests check every chunk with the validators of all three.

import type { CallSummary, Json, LoopStatus, Usage } from "../core/entry-kit.ts";

/** The major version of the `ai` package in the page. */
export type UIVersion = 5 | 6 | 7;

/** One chunk of the stream. */
export type UIMessageChunk =
  | { readonly type: "start"; readonly messageId: string; readonly messageMetadata?: unknown }
  | { readonly type: "finish"; readonly finishReason: UIFinishReason; readonly messageMetadata?: UIMessageMetadata }
  | { readonly type: "message-metadata"; readonly messageMetadata: UIMessageMetadata }
  | { readonly type: "abort"; readonly reason?: string }
  | { readonly type: "error"; readonly errorText: string }
  /** `reset-step` takes back the parts of the current step. Version 7 only. */
  | { readonly type: "start-step" | "finish-step" | "reset-step" }
  | { readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | { readonly type: "tool-input-start"; readonly toolCallId: string; readonly toolName: string }
  | { readonly type: "tool-input-delta"; readonly toolCallId: string; readonly inputTextDelta: string }
  /** Sent again if the arguments were edited. `providerExecuted` is set then. */
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
  /** Versions 6 and 7. */
  | { readonly type: "tool-output-denied"; readonly toolCallId: string }
  /** Versions 6 and 7. `isAutomatic` is set if no person was asked. */
  | {
      readonly type: "tool-approval-request";
      readonly approvalId: string;
      readonly toolCallId: string;
      readonly isAutomatic?: true;
    }
  /** Version 7 only. */
  | { readonly type: "tool-approval-response"; readonly approvalId: string; readonly approved: boolean; readonly reason?: string }
  /** Version 7 only. */
  | { readonly type: "steering-message"; readonly id: string; readonly parts: UISteeringPart[] }
  | UIDataChunk;

/** Marks an outcome that the server sent, so that the next request of the page does not count as its result. */
export interface UIExecuted {
  readonly toolCallId: string;
  readonly providerExecuted: true;
}

/** The data parts. Transient ones reach `onData` of the page only, the others become parts of the message. */
export type UIDataChunk =
  | { readonly type: "data-notice"; readonly transient: true; readonly data: { readonly kind: string } }
  | { readonly type: "data-masked"; readonly transient: true; readonly data: UIMasked }
  | { readonly type: "data-cost"; readonly transient: true; readonly data: UICost }
  /** A message to `control.steer`. Versions 5 and 6. */
  | { readonly type: "data-steered"; readonly id: string; readonly data: { readonly parts: readonly UISteeringPart[] } }
  /** A call that waits for a decision. Version 5. */
  | { readonly type: "data-approval"; readonly id: string; readonly data: UIApproval }
  /** Text of this step that was shown before no longer counts. Versions 5 and 6, which cannot take a part back. */
  | { readonly type: "data-attempt-discarded"; readonly id: string; readonly data: { readonly iteration: number } };

/** Results that requests leave out from now on. */
export interface UIMasked {
  /** The `toolCallId` of each. */
  readonly toolCallIds: readonly string[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** The spending of the run so far. */
export interface UICost {
  /** Streams of the model that have ended. */
  readonly streams: number;
  readonly usage: Usage;
  /** USD; absent if the cost of a stream is unknown. */
  readonly costUSD?: number | undefined;
}

/** A call that waits for a decision, for pages of version 5. */
export interface UIApproval {
  readonly approvalId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Json;
  /** Set once the decision has come. */
  readonly decision?: "approve" | "deny" | "modify" | "failed" | undefined;
}

/** A part of a steering message. */
export type UISteeringPart = { type: "text"; text: string } | { type: "file"; mediaType: string; url: string };

/** Why the message ended, in words of the AI SDK. "interrupted" is version 7 only. */
export type UIFinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "interrupted" | "other";

/** The metadata of a finished message. */
export interface UIMessageMetadata {
  readonly status: LoopStatus;
  readonly reason: UIReason;
  /** Usage of the run, nested runs included. */
  readonly usage: Usage;
  /** USD; absent if the cost of an iteration is unknown. */
  readonly costUSD?: number | undefined;
  readonly [field: string]: unknown;
}

/** The `reason` of the run without its texts: errors, notes and messages stay on the server. */
export interface UIReason {
  /** The kind of the reason, such as "answered" or "approval-required". */
  readonly kind: string;
  readonly [field: string]: unknown;
}

/** The preliminary output of a call that runs other runs, such as that of an agent tool. */
export interface UINestedProgress {
  readonly runs: readonly UINestedRun[];
  /** The last value of `ctx.progress`. */
  readonly progress?: Json;
}

/** One run inside a call. */
export interface UINestedRun {
  /** Ids of the calls around it, outermost first. */
  readonly path: readonly string[];
  /** Text so far. */
  readonly text: string;
  readonly calls: readonly UINestedCall[];
  readonly status: LoopStatus | "running";
}

/** One call of a run inside a call. */
export interface UINestedCall {
  readonly callId: string;
  readonly name: string;
  readonly state: CallSummary["outcome"] | "running";
}
