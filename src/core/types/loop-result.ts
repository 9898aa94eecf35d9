import type { Journal } from "./journal.ts";
import type { Json } from "./json.ts";
import type { PlainError, ResponseTarget, Usage } from "./common.ts";
import type { Message, ProviderMetadataPart, UserMessage } from "./message.ts";
import type { StreamResult } from "./provider.ts";
import type { EndReason, LoopStatus } from "./termination.ts";
import type { ToolCall, ToolHistoryEntry, WaitingCall } from "./tool-outcome.ts";

/**
 * The result of a run, for every way in which it can end. Calling `JSON.stringify` with it never throws. `Output` is the type of
 * the value that `policies.output` makes from the answer.
 */
export interface LoopResult<Output = unknown> {
  readonly status: LoopStatus;
  readonly reason: EndReason;
  /** The last text from the model that was not blank, trimmed. */
  readonly text: string;
  /** The details from the last stream that had details. */
  readonly details: string;
  /** `text`, followed by the details with their label, if there are any. */
  readonly responseText: string;
  readonly thoughtLog?: Json | undefined;
  /** Present if there is a thought log. */
  readonly thoughtLogOwner?: ThoughtLogOwner | undefined;
  /** One result for each provider stream, including continuations and the extra iteration of `policies.finalAnswer`. */
  readonly streamResults: readonly StreamResult[];
  /** The calls with their results, in call order. Omits calls that were interrupted, never ran, or restarted the context. */
  readonly functionHistory: readonly ToolHistoryEntry[];
  /** The provider metadata from all streams, in order. */
  readonly accumulatedModelParts: readonly ProviderMetadataPart[];
  /** The transcript. It can be sent as the `messages` of another run. */
  readonly messages: readonly Message[];
  /** The usage of all streams, including streams of nested runs. */
  readonly usage: Usage;
  /** The cost in USD. Undefined if the cost of an iteration is unknown. */
  readonly costUSD: number | undefined;
  /** The number of iterations that were counted for `maxIterations`. */
  readonly iterations: number;
  /** The number of calls that were started, including calls of nested runs. */
  readonly toolCallsExecuted: number;
  /** The active time in milliseconds. The time between the executions of a resumed run is not counted. */
  readonly durationMs: number;
  /**
   * The error of `reason`, if it has one. For `max-cost` the message states the cost so far, and for `cost-unknown` it states why
   * the cost is unknown.
   */
  readonly error?: PlainError | undefined;
  /** True if the known costs exceed `limits.maxCostUSD`. The stream that exceeds the limit is not cut off. */
  readonly budgetExceeded: boolean;
  /** True if the text comes from the extra iteration of `policies.finalAnswer`. */
  readonly finalAnswer: boolean;
  /** The answer as plain data, if `policies.output` validated the answer. A replayed run has the same value. */
  readonly output?: Output | undefined;
  /**
   * The calls of this run that a stop condition prevented, or that wait for a decision or a result (`waitsFor`). Otherwise empty.
   */
  readonly pendingCalls: readonly (ToolCall & Partial<Pick<WaitingCall, "waitsFor" | "fromPage">>)[];
  /**
   * Messages to `control` that were not sent to the model, in the order in which they arrived. Includes messages to the controls of
   * nested runs that were suspended or that ended together with this run.
   */
  readonly undelivered: readonly UserMessage[];
  readonly journal: Journal;
  readonly runId: string;
}

/** The parts of a result that exist if the journal of the run stopped answering. */
export interface PartialResult extends Pick<
  LoopResult,
  "runId" | "text" | "messages" | "streamResults" | "functionHistory" | "usage" | "costUSD" | "iterations" | "toolCallsExecuted"
> {
  /** The results of the last steps, which the journal never confirmed. The other fields do not include these results. */
  readonly unrecorded: readonly { readonly key: string; readonly answer: unknown }[];
}

/** The owner of a thought log. */
export type ThoughtLogOwner = ResponseTarget;
