// Types for a parsed run log. Times are in milliseconds since 1970, durations in milliseconds.

import type { Json, JsonSchema, PlainError, ProviderError } from "../core/types/common.ts";
import type { LoopEvents } from "../core/types/loop-event.ts";
import type { Message } from "../core/types/message.ts";
import type { FinishReason, ModelSettings, ToolChoice } from "../core/types/provider.ts";
import type { ToolDefinition } from "../core/types/tool.ts";

/** The content of a run log. */
export interface RunLog {
  readonly version: 1;
  /**
   * "journal" if the log was made from a journal by `journalToRunLog`. Its times are then milliseconds since the start of the run,
   * and its requests contain only the transcript and the names of the tools.
   */
  readonly source: "log" | "journal";
  /** The outermost runs, in the order in which they started. Nested runs are in the calls that contain them. */
  readonly runs: readonly LoggedRun[];
  /** True if the last line is incomplete, for example after a crash. The line is ignored. */
  readonly isTorn: boolean;
}

/** One line of a log, with its references resolved. docs/run-log.md lists the fields of each type. */
export interface LoggedLine {
  readonly type: string;
  readonly at: number;
  readonly [field: string]: Json;
}

/** The fields of a line. Any of them may be missing. */
type Logged<Event, Field extends keyof Event> = { readonly [Name in Field]?: Event[Name] | undefined };

type RunEndField = "status" | "reason" | "usage" | "costUSD" | "durationMs" | "toolCallsExecuted";

/** A run, with all of its executions. `durationMs` is their total active time. */
export interface LoggedRun extends Logged<LoopEvents["run-end"], RunEndField> {
  readonly runId: string;
  /** The ids of the calls that contain this run, outermost first. Empty for an outermost run. */
  readonly path: readonly string[];
  readonly provider: string;
  readonly model: string;
  /** The `version` of the caller's code. */
  readonly version?: string | undefined;
  /** The limits that the caller set. An infinite limit is "Infinity". */
  readonly limits: { readonly [name: string]: number | string };
  readonly timeouts: { readonly [name: string]: number | string };
  /** The names of the middleware, outermost first. */
  readonly middleware: readonly string[];
  readonly session?: { readonly [field: string]: Json } | undefined;
  /** The times at which the run was started and resumed. */
  readonly starts: readonly number[];
  readonly startedAt: number;
  /** The time at which the last execution ended. Undefined if it is not in the log. */
  readonly endedAt?: number | undefined;
  /** The error that the run rejected with instead of returning a result. */
  readonly error?: PlainError | undefined;
  readonly iterations: readonly LoggedIteration[];
  /** The summaries that replace old messages, in the order in which they were written. */
  readonly compactions: readonly LoggedCompaction[];
  /** All lines about the run itself, in order. */
  readonly lines: readonly LoggedLine[];
}

type IterationEndField = "status" | "provider" | "model" | "finish" | "usage" | "costUSD" | "durationMs";

/**
 * One stream and its calls. If a crash interrupted a stream, another stream with the same number follows. `provider` and `model` name the
 * ones that answered, and `durationMs` is the stream's duration, without its calls.
 */
export interface LoggedIteration extends Logged<LoopEvents["iteration-end"], IterationEndField> {
  /** The number of the iteration, counted from 0. */
  readonly iteration: number;
  readonly continuation: number;
  /** The agent that was active in the iteration. Undefined without `createHandoffs`. */
  readonly agent?: string | undefined;
  /** True if the stream was replayed from a journal and the log has no line from its first execution. */
  readonly isReplayed: boolean;
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  /** The stream's request. Undefined if none was sent. */
  readonly request?: LoggedRequest | undefined;
  /** The first text, reasoning or call of the last attempt. `ms` is the time since the start of that attempt. */
  readonly firstToken?: { readonly at: number; readonly ms: number; readonly kind: "text" | "reasoning" | "call" } | undefined;
  /** The attempts by a provider such as `withRetry`. Empty for other providers. */
  readonly attempts: readonly LoggedAttempt[];
  readonly output?: LoggedOutput | undefined;
  readonly calls: readonly LoggedCall[];
  readonly waits: readonly LoggedWait[];
}

type CompactionEndField = "outcome" | "tokensBefore" | "tokensAfter" | "provider" | "model" | "usage" | "costUSD" | "error";

/**
 * A compaction: a summary that replaces old messages, or a failed attempt to write a summary. The request of `iteration` is the first one
 * with the summary. The usage and the cost count toward the run, but not toward any iteration.
 */
export interface LoggedCompaction
  extends Logged<LoopEvents["compaction-end"], CompactionEndField>, Logged<LoopEvents["compaction-start"], "cause"> {
  /** The number of the iteration that follows. */
  readonly iteration: number;
  /** True if the summary was replayed from a journal and the log has no line from its first execution. */
  readonly isReplayed: boolean;
  readonly startedAt: number;
  /** The time at which the compaction ended. Undefined if it is not in the log, for example after a crash. */
  readonly endedAt?: number | undefined;
}

/** A request as received by the run's provider. */
export interface LoggedRequest {
  readonly at: number;
  readonly provider: string;
  readonly model: string;
  readonly system?: string | undefined;
  /** The JSON Schema of the answer, if the provider sends it. Otherwise `system` describes the schema. */
  readonly output?: JsonSchema | undefined;
  /** The tools that the model could see. */
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice | undefined;
  readonly settings?: ModelSettings | undefined;
  readonly messageCount: number;
  /** How many messages from the previous request this request begins with, including the messages in `replaced`, which have changed. */
  readonly keptCount: number;
  readonly replaced: readonly (readonly [index: number, message: Message])[];
  readonly added: readonly Message[];
  /** Returns all messages in the request. Each call builds the list from the differences between requests. */
  messages(): readonly Message[];
}

/** An attempt by a provider such as `withRetry` or `withFallback`. */
export interface LoggedAttempt {
  readonly attempt: number;
  readonly provider: string;
  readonly model: string;
  readonly startedAt: number;
  readonly discardedAt?: number | undefined;
  readonly error?: ProviderError | undefined;
  /** The text of the discarded attempt. */
  readonly text?: string | undefined;
  readonly reasoning?: string | undefined;
}

/** The model's output in one stream. */
export interface LoggedOutput {
  readonly at: number;
  readonly text: string;
  readonly reasoning: string;
  readonly details: string;
  readonly finish?: FinishReason | undefined;
  /** The finish reason, as the service sent it. */
  readonly rawFinish?: string | undefined;
  readonly error?: ProviderError | undefined;
  readonly providerMetadata: readonly Json[];
  readonly thoughtLog?: Json | undefined;
}

/** A tool call, from its arguments to its result. */
export interface LoggedCall {
  readonly callId: string;
  readonly name: string;
  readonly index: number;
  readonly args?: Json | undefined;
  readonly problem?: string | undefined;
  /** The time at which the arguments were complete. */
  readonly readyAt?: number | undefined;
  /** The time of the latest start. Absent for a call that was refused. A call starts again after its question is answered. */
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  readonly outcome?: string | undefined;
  readonly result?: Json | undefined;
  readonly metadata?: Json | undefined;
  readonly durationMs?: number | undefined;
  /** The progress that the tool reported, its preliminary results, and the parts that it emitted. Text fragments are joined. */
  readonly progress: readonly { readonly at: number; readonly data: Json }[];
  readonly decision?: string | undefined;
  /** The agent that this call handed the run over to, and the reason. */
  readonly handoff?: { readonly to: string; readonly reason?: string | undefined } | undefined;
  /** The nested runs that the call started. */
  readonly runs: readonly LoggedRun[];
}

/**
 * A period in which an iteration waited. "queue" is the time from the end of the output, or from the approval, to the start of the call.
 * `to` is undefined if the end of the wait is not in the log.
 */
export interface LoggedWait {
  readonly kind: "approval" | "outside-result" | "queue" | "rate-limit" | "retry";
  readonly from: number;
  readonly to?: number | undefined;
  /** The call that waited. Undefined for "rate-limit" and "retry". */
  readonly callId?: string | undefined;
}
