import type { Journal } from "./journal.ts";
import type { Json, PlainError, ResponseTarget, Usage } from "./common.ts";
import type { Message, ProviderMetadataPart, UserMessage } from "./message.ts";
import type { StreamResult } from "./provider.ts";
import type { CompactedMessages } from "./middleware-options.ts";
import type { EndReason, LoopStatus } from "./termination.ts";
import type { PromptCacheUse } from "./prompt-cache.ts";
import type { AnyTool } from "./tool.ts";
import type { RunCall } from "./typed-call.ts";
import type { Handoff, ToolCall, ToolHistoryEntry, WaitingCall } from "./tool-outcome.ts";

/**
 * The result of a run, however the run ended. `JSON.stringify` never throws on it. `Output` is the type of the value that
 * `structuredOutput` creates from the answer, and `T` is the union of the tool types.
 */
export interface LoopResult<Output = unknown, T extends AnyTool = AnyTool> {
  /** How the run ended, in one word: "completed", "error", "timeout", "stopped-by-user", "suspended" or another status. */
  readonly status: LoopStatus;
  /** Why the run ended. `reason.kind` is more precise than `status`, and some kinds have more fields. */
  readonly reason: EndReason;
  /** The model's last non-blank text, trimmed. */
  readonly text: string;
  /** The details from the last stream that had any. */
  readonly details: string;
  /** The value of `text`. If there are details, they follow under their label. */
  readonly responseText: string;
  /** The thought log from the last stream that had one. */
  readonly thoughtLog?: Json | undefined;
  /** The owner of the thought log. Present if there is a thought log. */
  readonly thoughtLogOwner?: ThoughtLogOwner | undefined;
  /** One result for each model stream, including continuations and the extra iteration of `finalAnswer`. */
  readonly streamResults: readonly StreamResult[];
  /**
   * The calls with their results, in call order, typed by the run's tools. Calls that were interrupted, never ran, or
   * restarted the context are omitted. `outcome` is "processed" instead of "completed" if `processResults` changed the result.
   */
  readonly calls: readonly RunCall<T>[];
  /**
   * The same calls in the format that model services use. Processed results also have the outcome "completed" here. Entry `n`
   * describes the same call as `calls[n]`.
   */
  readonly functionHistory: readonly ToolHistoryEntry[];
  /** The provider metadata from all streams, in order: data in the provider's own format. */
  readonly accumulatedModelParts: readonly ProviderMetadataPart[];
  /** The transcript, as plain JSON. You can store it, for example in a `jsonb` column, and pass it as `messages` to another run. */
  readonly messages: readonly Message[];
  /** The agent at the end of the run. Undefined without `createHandoffs`. */
  readonly agent?: string | undefined;
  /** The handoffs in this run, in order. Undefined without `createHandoffs`. */
  readonly handoffs?: readonly Handoff[] | undefined;
  /** The last summary that replaced messages in requests. Undefined if there was no compaction. */
  readonly compaction?: CompactedMessages | undefined;
  /** The usage of all streams, including streams in nested runs. */
  readonly usage: Usage;
  /** How this run's requests used the prompt cache. Excludes nested runs. Undefined without `watchPromptCache`. */
  readonly cache?: PromptCacheUse | undefined;
  /** The cost in USD. Undefined if the cost of any iteration is unknown. */
  readonly costUSD: number | undefined;
  /** The sum of the known costs in USD. The run has cost at least this much, even if `costUSD` is undefined. */
  readonly knownCostUSD: number;
  /** The number of iterations that count toward `maxIterations`. */
  readonly iterations: number;
  /** The number of tool calls that were started, including calls in nested runs. */
  readonly toolCallsExecuted: number;
  /** The active time in milliseconds, excluding the time between the executions of a resumed run. */
  readonly durationMs: number;
  /**
   * The error from `reason`, if it has one. If a guardrail ended the run, the message contains the check's name and its
   * reason. For `max-cost`, the message contains the cost so far. For `cost-unknown`, the message
   * explains why the cost is unknown.
   */
  readonly error?: PlainError | undefined;
  /** True if the known costs exceed `limits.maxCostUSD`. The stream that exceeds the limit is still completed. */
  readonly budgetExceeded: boolean;
  /** True if `text` is from the extra iteration of `finalAnswer`. */
  readonly finalAnswer: boolean;
  /** The answer as JSON data, if `structuredOutput` validated it. A replayed run has an equal value. */
  readonly output?: Output | undefined;
  /**
   * The calls in this run that a stop condition prevented, or that are waiting for a decision or a result (`waitsFor`). Empty if there are
   * none.
   */
  readonly pendingCalls: readonly (ToolCall & Partial<Pick<WaitingCall, "id" | "waitsFor" | "fromPage" | "question">>)[];
  /**
   * The messages to `control` that were not sent to the model, in order of arrival. Also includes the undelivered messages to
   * nested runs that were suspended, or that ended together with this run.
   */
  readonly undelivered: readonly UserMessage[];
  /** The run's journal: yours, or one in memory. Pass it to another call to `runToolLoop` to resume the run. */
  readonly journal: Journal;
  /** The id of the run, from the `runId` option or generated. */
  readonly runId: string;
}

/** The parts of a result that are available when the run's journal has stopped responding. */
export interface PartialResult extends Pick<
  LoopResult,
  "runId" | "text" | "messages" | "streamResults" | "functionHistory" | "usage" | "costUSD" | "iterations" | "toolCallsExecuted"
> {
  /** The results of the run's last steps, which the journal has not confirmed. The other fields do not include them. */
  readonly unrecorded: readonly { readonly key: string; readonly answer: unknown }[];
}

/** The persona or party that a thought log belongs to. */
export type ThoughtLogOwner = ResponseTarget;
