import type { Journal } from "./journal.ts";
import type { Json } from "./json.ts";
import type { PlainError, ResponseTarget, Usage } from "./common.ts";
import type { Message, ProviderMetadataPart, UserMessage } from "./message.ts";
import type { StreamResult } from "./provider.ts";
import type { EndReason, LoopStatus } from "./termination.ts";
import type { ToolCall, ToolHistoryEntry, WaitingCall } from "./tool-outcome.ts";

/**
 * The result of a run, however it ended. `JSON.stringify` of it never throws. `Output` is the type of the value that
 * `policies.output` makes of the answer.
 */
export interface LoopResult<Output = unknown> {
  readonly status: LoopStatus;
  readonly reason: EndReason;
  /** The last text that was not blank, trimmed. */
  readonly text: string;
  /** Details of the last stream that had any. */
  readonly details: string;
  /** `text`, followed by the labelled details if there are any. */
  readonly responseText: string;
  readonly thoughtLog?: Json | undefined;
  /** Present if there is a thought log. */
  readonly thoughtLogOwner?: ThoughtLogOwner | undefined;
  /** One per provider stream, including continuations and a granted final answer. */
  readonly streamResults: readonly StreamResult[];
  /** Answered calls in call order. Omits calls that were interrupted, never ran, or restarted the context. */
  readonly functionHistory: readonly ToolHistoryEntry[];
  /** Provider metadata of all streams, in order. */
  readonly accumulatedModelParts: readonly ProviderMetadataPart[];
  /** The transcript. It can be sent as the `messages` of another run. */
  readonly messages: readonly Message[];
  /** Usage of all streams, including those of nested runs. */
  readonly usage: Usage;
  /** USD; undefined if the cost of an iteration is unknown. */
  readonly costUSD: number | undefined;
  /** Iterations that counted towards `maxIterations`. */
  readonly iterations: number;
  /** Calls that were dispatched, including those of nested runs. */
  readonly toolCallsExecuted: number;
  /** Active time in milliseconds. The time between two executions is not counted. */
  readonly durationMs: number;
  /** The error of `reason`, if it has one. For `max-cost` and `cost-unknown` it states the cost so far, or why the cost is unknown. */
  readonly error?: PlainError | undefined;
  /** True if the known costs exceed `limits.maxCostUSD`. The stream that crosses the limit is not cut off. */
  readonly budgetExceeded: boolean;
  /** True if the text comes from the extra iteration of `policies.finalAnswer`. */
  readonly finalAnswer: boolean;
  /** The answer as a value, if `policies.output` validated it. Plain data, and the same when the run is replayed. */
  readonly output?: Output | undefined;
  /**
   * Calls of this run that a stop condition prevented, or that wait for a decision or a result (`waitsFor`). Otherwise empty.
   */
  readonly pendingCalls: readonly (ToolCall & Partial<Pick<WaitingCall, "waitsFor">>)[];
  /**
   * Messages to `control` that were not sent to the model, in the order in which they came. Includes messages to the controls of
   * runs inside calls that were suspended, or that ended together with this run.
   */
  readonly undelivered: readonly UserMessage[];
  readonly journal: Journal;
  readonly runId: string;
}

/** The parts of a result that exist when the run lost its journal. */
export interface PartialResult extends Pick<
  LoopResult,
  "runId" | "text" | "messages" | "streamResults" | "functionHistory" | "usage" | "costUSD" | "iterations" | "toolCallsExecuted"
> {
  /** Results of the last steps that the journal never confirmed. The other fields do not include them. */
  readonly unrecorded: readonly { readonly key: string; readonly answer: unknown }[];
}

/** The owner of a thought log. */
export type ThoughtLogOwner = ResponseTarget;
