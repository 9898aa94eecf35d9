import type { Journal } from "./journal.ts";
import type { Json } from "./json.ts";
import type { PlainError, ResponseTarget, Usage } from "./common.ts";
import type { Message, ProviderMetadataPart, UserMessage } from "./message.ts";
import type { StreamResult } from "./provider.ts";
import type { EndReason, LoopStatus } from "./termination.ts";
import type { ToolCall, ToolHistoryEntry } from "./tool-outcome.ts";

/** Everything a run gave, whatever its ending. `JSON.stringify` of it never throws. `Output` is what `policies.output` makes of the answer. */
export interface LoopResult<Output = unknown> {
  readonly status: LoopStatus;
  readonly reason: EndReason;
  /** The last text that was not blank, trimmed. */
  readonly text: string;
  /** Details of the last stream that had some. */
  readonly details: string;
  /** `text`, and below it the labelled details, where there are any. */
  readonly responseText: string;
  readonly thoughtLog?: Json | undefined;
  /** Present where there is a thought log. */
  readonly thoughtLogOwner?: ThoughtLogOwner | undefined;
  /** One per provider stream, resends and a granted final answer included. */
  readonly streamResults: readonly StreamResult[];
  /** Answered calls in call order; not those that were interrupted, never ran, or restarted the context. */
  readonly functionHistory: readonly ToolHistoryEntry[];
  /** Provider metadata of all streams, in order. */
  readonly accumulatedModelParts: readonly ProviderMetadataPart[];
  /** The transcript, sendable as it is. */
  readonly messages: readonly Message[];
  /** Of all streams, those of nested runs included. */
  readonly usage: Usage;
  /** USD; undefined where the cost of an iteration is unknown. */
  readonly costUSD: number | undefined;
  /** Iterations that counted towards `maxIterations`. */
  readonly iterations: number;
  /** Calls that were dispatched, those of nested runs included. */
  readonly toolCallsExecuted: number;
  /** Active time in milliseconds; time between two executions is not counted. */
  readonly durationMs: number;
  /** The error of `reason`, if it has one; for `max-cost` and `cost-unknown` one that says what is spent or why the cost is not known. */
  readonly error?: PlainError | undefined;
  /** True where the known costs are above `limits.maxCostUSD`: the stream that crossed it was let finish. */
  readonly budgetExceeded: boolean;
  /** True where the text comes from the iteration that `policies.finalAnswer` granted. */
  readonly finalAnswer: boolean;
  /** The answer as a value, where `policies.output` has validated it: plain data, and the same when the run is replayed. */
  readonly output?: Output | undefined;
  /** Calls of this run that were asked for and not run: a stop condition kept them from it, or they wait for a decision. Else none. */
  readonly pendingCalls: readonly ToolCall[];
  /**
   * Messages to `control` that were not sent to the model, in the order in which they came. Also those to the controls of runs inside
   * calls that were suspended, or ended together with this one.
   */
  readonly undelivered: readonly UserMessage[];
  readonly journal: Journal;
  readonly runId: string;
}

/** The parts of a run's result when it left its journal. */
export interface PartialResult extends Pick<
  LoopResult,
  "runId" | "text" | "messages" | "streamResults" | "functionHistory" | "usage" | "costUSD" | "iterations" | "toolCallsExecuted"
> {
  /** Answers of the last steps, if the journal never said that it has kept them. None of it is in the other fields. */
  readonly unrecorded: readonly { readonly key: string; readonly answer: unknown }[];
}

/** The owner of a thought log. */
export type ThoughtLogOwner = ResponseTarget;
