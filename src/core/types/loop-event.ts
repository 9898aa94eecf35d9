import type { EventEmitter } from "eventemitter3";
import type { DenyingGuardrail, GuardrailRecord } from "./guardrails.ts";
import type { Json, PlainError, ProviderError, Usage } from "./common.ts";
import type { UserMessage } from "./message.ts";
import type { FinishReason, RequestAdjustment } from "./provider.ts";
import type { EndReason, LoopStatus, StreamStatus } from "./termination.ts";
import type { PromptCacheBreak } from "./prompt-cache.ts";
import type { AnyTool } from "./tool.ts";
import type { Handoff, ToolCall, ToolOutcome, ToolQuestion } from "./tool-outcome.ts";
import type { CallResult } from "./typed-call.ts";

/** The fields that every event has. */
export interface EventBase {
  readonly runId: string;
  /** The number of the iteration, counted from 0. */
  readonly iteration: number;
  /** The ids of the calls that contain the nested run, outermost first. Only events from nested runs have this field. */
  readonly path?: readonly string[] | undefined;
  /** True if the event is from a step that was replayed from a journal. */
  readonly replayed?: boolean | undefined;
}

/** An event about one tool call. All events about a call have the same `callId` and `index`. */
export interface CallEvent extends EventBase {
  /** The id of the call, which is unique in the run. */
  readonly callId: string;
  readonly name: string;
  /** The position of the call in its iteration, counted from 0. */
  readonly index: number;
}

/** One tool call in an iteration, with its outcome. */
export interface CallSummary extends Pick<CallEvent, "callId" | "name" | "index"> {
  /**
   * The outcome in the call's `tool-end` event, or "waiting" if that outcome is "deferred". A call without a `tool-end` event is "waiting"
   * if it can start when the run is resumed; otherwise it is "not-run".
   */
  readonly outcome: ToolOutcome["kind"] | "waiting";
}

/** An event about a changed tool result, with its size before and after the change in estimated tokens. */
export interface ResultEvent extends CallEvent {
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** A text fragment. `attempt` is set for a provider that numbers its attempts, such as `withRetry` and `withFallback`. */
export interface DeltaEvent extends EventBase {
  readonly text: string;
  readonly attempt?: number | undefined;
  /**
   * True if the output of this attempt is never discarded. This is true for the last attempt of `withFallback`. It is also true
   * for every attempt of `withRetry`, because `withRetry` does not retry an attempt that has produced output.
   */
  readonly isFinal?: true | undefined;
}

/**
 * A part that a tool writes to the user's stream: a text fragment, or named data. Within a call, data with the same `name`
 * and `id` replaces earlier data.
 */
export type EmittedPart<Data = Json> =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "data"; readonly name: string; readonly data: Data; readonly id?: string | undefined };

/**
 * All events and their payloads. Events are nested: run > iteration > tool. Each start event has exactly one end event. Only
 * `tool-end` may come without a start event.
 */
export interface LoopEvents {
  /** Emitted when the run starts, before its first iteration. */
  "run-start": EventBase & { readonly provider: string; readonly model: string };
  /** Emitted when the run has ended, as its last event. */
  "run-end": EventBase & {
    readonly status: LoopStatus;
    readonly reason: EndReason;
    readonly usage: Usage;
    readonly costUSD: number | undefined;
    readonly iterations: number;
    readonly toolCallsExecuted: number;
    readonly durationMs: number;
  };
  /**
   * Emitted when a resumed run begins new work. The outermost run sends this event once: before the first model request, tool call or
   * middleware step that is not in the journal, or before `run-end` if the journal has all of these steps. A run that replays none of these
   * steps does not send this event.
   */
  "replay-end": EventBase;
  /** Emitted when a stream starts. `continuation` is the number of the stream within its iteration, counted from 0. */
  "iteration-start": EventBase & {
    readonly continuation: number;
    /** The agent in this iteration. Absent without `createHandoffs`. */
    readonly agent?: string | undefined;
  };
  /** Emitted when a stream and its tool calls have finished. The payload describes the stream. */
  "iteration-end": EventBase & {
    readonly continuation: number;
    readonly status: StreamStatus;
    readonly provider: string;
    readonly model: string;
    readonly finish: FinishReason | undefined;
    readonly usage: Usage | undefined;
    readonly costUSD: number | undefined;
    /**
     * All calls in the iteration, in the order in which the model made them. Empty if the service paused the message, because the
     * event for the iteration's final stream lists all calls.
     */
    readonly calls: readonly CallSummary[];
    readonly durationMs: number;
  };
  /** A fragment of the model's text. */
  "text-delta": DeltaEvent;
  /** A fragment of the model's reasoning. */
  "reasoning-delta": DeltaEvent;
  /** A fragment of a call's arguments. */
  "tool-args-delta": CallEvent & { readonly text: string };
  /**
   * Emitted once for each call when its arguments are complete, before the call is approved or run. `problem` is set if the
   * arguments cannot be used: "malformed" if they are not JSON, and "truncated" if they were cut off.
   */
  "tool-args-end": CallEvent & { readonly args: Json; readonly problem?: ToolCall["problem"] };
  /**
   * Emitted when a call's tool begins to run, once for each execution. A call that was refused has no `tool-start`. A replay
   * emits the event for each call whose tool has run.
   */
  "tool-start": CallEvent & { readonly args: Json };
  /**
   * Emitted when a running tool calls `context.progress(data)`, or when its generator yields. `preliminary` is true for a yielded value:
   * `data` is then a preliminary result, as JSON data.
   */
  "tool-progress": CallEvent & { readonly data: unknown; readonly preliminary?: true | undefined };
  /** Emitted when a running tool calls `context.emit(part)`. Never recorded, so a replay does not emit it again. */
  "tool-emit": CallEvent & { readonly part: EmittedPart };
  /**
   * Emitted when the outcome of a call is known. Follows a `tool-start` if the tool ran: the outcome is then "completed", "failed",
   * "timed-out", "interrupted" or "deferred". A refused call has no `tool-start`. After "deferred", another `tool-end` contains
   * the result.
   */
  "tool-end": CallEvent & {
    readonly outcome: ToolOutcome["kind"];
    /** The result for the model, before `processResults` changes it. */
    readonly result: Json;
    readonly durationMs: number;
    /** The metadata that the tool passed to `toolResult({ metadata })`. Absent in a replay. */
    readonly metadata?: unknown;
  };
  /**
   * A notice that a user interface may show to users. "unmarked-restart" is for developers: the tool `toolName` has returned plain data
   * whose `type` is that of a context restart, which has no effect. Return `contextRestart(...)` instead.
   */
  notice: EventBase & {
    readonly kind: "still-working" | "max-iterations" | "tool-error-cap" | "stream-timeout" | "unmarked-restart";
    readonly toolName?: string | undefined;
  };
  /**
   * Emitted when the model calls a tool that deliberate mode allowed because of a trigger phrase. Also emitted if the call fails. This
   * event is for a thought log, not for users. Secrets in `args` are redacted, and long strings are truncated.
   */
  "hidden-notice": CallEvent & { readonly trigger: TriggerMatch; readonly args: Json };
  /** Emitted when a tool result requests a context restart, so the run continues with more context. */
  restart: CallEvent & {
    readonly suffix: string;
    readonly disableTools: readonly string[];
    /**
     * "found" if the stash has the item for the result's `pending_context_key`, otherwise "missing". Absent without such a key.
     */
    readonly pendingContext?: "found" | "missing" | undefined;
  };
  /** Emitted when the run continues as another agent. */
  handoff: CallEvent & Pick<Handoff, "from" | "to" | "reason">;
  /**
   * Emitted when a tool asks a question with `ask` and `wait: true`, and waits in this process. Pass the answer to
   * `control.answer(id, answer)`. `id` consists of the call's path and the question's number.
   */
  "question-asked": CallEvent & {
    readonly id: string;
    readonly question: ToolQuestion;
    /** True if a web page may send the answer. */
    readonly fromPage?: true | undefined;
  };
  /**
   * Emitted when a tool no longer waits for the answer to its question. `answer` is "withdrawn" if the call ended without an
   * answer.
   */
  "question-answered": CallEvent & { readonly id: string; readonly answer: "result" | "failed" | "withdrawn" };
  /** Emitted before the approval policy decides about a tool call. */
  "approval-asked": CallEvent & { readonly args: Json };
  /**
   * Emitted when the approval policy or the `answers` option has decided about a call. If there is no decision, `error` says why.
   */
  "approval-decided": CallEvent & {
    readonly decision: "approve" | "deny" | "modify" | "failed";
    /**
     * The `id` that the call had in `pendingCalls` while the call was waiting, without the ids in `path`. Absent if the call did not
     * wait, because the policy decided immediately.
     */
    readonly question?: string | undefined;
    /** The new arguments of a "modify" decision, before they are validated. */
    readonly args?: Json | undefined;
    readonly reason?: string | undefined;
    /** The person who decided, if the decision names one. */
    readonly by?: string | undefined;
    /** The `guardrails` check that denied the call. */
    readonly guardrail?: DenyingGuardrail | undefined;
    readonly error?: PlainError | undefined;
  };
  /**
   * Emitted after each input or output check by `guardrails`. A denied tool call has an `approval-decided` event
   * with the `guardrail` field instead.
   */
  guardrail: EventBase & { readonly stage: "input" | "output" } & GuardrailRecord;
  /**
   * Emitted when the model repeats its calls: the sequence of the most recent `cycle` iterations has occurred `count` times in a
   * row.
   */
  "loop-detected": EventBase & {
    /** The first tool that was called in the iteration. */
    readonly toolName: string;
    readonly count: number;
    readonly cycle: number;
    readonly action: LoopAction;
  };
  /** Emitted when the processor of `processResults` has changed a result. */
  "result-processed": ResultEvent;
  /** Emitted when the extractor of `processResults` has shortened a result. */
  "result-extracted": ResultEvent;
  /** Emitted when the cacher of `processResults` has stored a result and replaced it with a short note. */
  "result-cached": ResultEvent;
  /**
   * Emitted when old results are removed from this request and all later ones. `calls` lists the ids of the calls with these
   * results. The token counts are totals for the removed results.
   */
  masked: EventBase & { readonly calls: readonly string[]; readonly tokensBefore: number; readonly tokensAfter: number };
  /**
   * Emitted after a stream. Each request in the stream is compared with the previous request to the same model, and there is one
   * event for each request that begins differently. Only emitted with `watchPromptCache`.
   */
  "cache-break": EventBase & PromptCacheBreak;
  /**
   * Emitted after a stream if the model read a different request from the one that the run made. The adapter left out or replaced a
   * part that the model refuses, or the service removed reasoning that is no longer valid. Each change is reported once per run.
   */
  "request-adjusted": EventBase & RequestAdjustment;
  /**
   * Emitted before old messages are summarized. `cause` is "due" if the context is nearly full, or "forced" if the service refused the
   * previous request as too long.
   */
  "compaction-start": EventBase & { readonly cause: "due" | "forced" };
  /**
   * Emitted when the summary has been written or has failed. If it failed, no messages are replaced. The token counts
   * are estimates for the next request. `usage` and `costUSD` are the usage and the cost of the summary. `provider` and `model`
   * name the model that wrote the summary, and are undefined if no request was sent.
   */
  "compaction-end": EventBase & {
    readonly outcome: "compacted" | "failed";
    readonly tokensBefore: number;
    readonly tokensAfter: number;
    readonly provider: string | undefined;
    readonly model: string | undefined;
    readonly usage: Usage | undefined;
    readonly costUSD: number | undefined;
    readonly error?: PlainError | undefined;
  };
  /** Emitted when a message from `control.steer` is added to the transcript. */
  steered: EventBase & { readonly message: UserMessage };
  /**
   * Emitted when a provider such as `withRetry` or `withFallback` discards an attempt and all its output. Also sent
   * after `iteration-end` if `resume: "retry-last"` discards the last message; `attempt` and `error` are then absent.
   */
  "attempt-discarded": EventBase & { readonly attempt?: number | undefined; readonly error?: ProviderError | undefined };
  /** Emitted when a tool finishes after the loop has stopped waiting for it. The tool's result is dropped. */
  "late-result": CallEvent & { readonly success: boolean };
  /**
   * Emitted when a listener, `gate.retain`, `pricing`, the stash or a stage of `processResults` throws or rejects. Each
   * listener is reported at most once per run.
   */
  "listener-error": EventBase & { readonly event: string; readonly error: PlainError };
}

/** The name of an event. */
export type LoopEventType = keyof LoopEvents;

/**
 * Any event, as yielded by `streamToolLoop`. `T` is the union of the tool types. If the name of a tool in `T` is a literal
 * type, the result in a `tool-end` event for this tool has the tool's result type.
 */
export type LoopEvent<T extends AnyTool = AnyTool> =
  | { readonly [Type in OtherEventType]: EventOf<Type> }[OtherEventType]
  | ToolEnd<T>;

type OtherEventType = Exclude<LoopEventType, "tool-end">;

type EventOf<Type extends LoopEventType> = { readonly type: Type } & LoopEvents[Type];

/**
 * Events from nested runs have a `path`, and may be about any tool. The template matches all names except the type `string`. A test
 * of the form `string extends T["name"]` would make `LoopEvent` contravariant in `T`.
 */
type ToolEnd<T extends AnyTool> = T["name"] extends `${infer _First}${infer _Rest}`
  ? CompletedToolEnd<T> | UncompletedToolEnd | (EventOf<"tool-end"> & { readonly path: readonly string[] })
  : EventOf<"tool-end">;

type ToolEndFields<Field extends string> = Omit<EventOf<"tool-end">, Field | "path"> & { readonly path?: undefined };

type CompletedToolEnd<T extends AnyTool> = T extends AnyTool
  ? ToolEndFields<"name" | "outcome" | "result"> & {
      readonly name: T["name"];
      readonly outcome: "completed";
      readonly result: CallResult<T>;
    }
  : never;

type UncompletedToolEnd = ToolEndFields<"outcome"> & { readonly outcome: Exclude<ToolOutcome["kind"], "completed"> };

/** The type of an eventemitter3 emitter for loop events. */
export type LoopEmitter = EventEmitter<{ [Type in LoopEventType]: [event: LoopEvents[Type]] }>;

/** Receives a run's events. */
export interface EventSink {
  readonly runId: string;
  /** Returns true if the event has a listener. Otherwise, the caller need not create the payload of a frequent event. */
  wants(type: LoopEventType): boolean;
  /** Sends an event. The payload includes `type`, so that listeners and stream readers receive the same object. */
  send(event: LoopEvent): void;
  /**
   * Returns undefined if the reader can take more events. Otherwise, returns a promise that resolves when the reader can take
   * more.
   */
  room(): Promise<void> | undefined;
}

/** How loop detection reacts when the model repeats its calls. */
export type LoopAction = "warn" | "stop" | "inject-warning";

/** The phrase that made deliberate mode allow a tool. */
export interface TriggerMatch {
  readonly trigger: string;
  readonly match: string;
  readonly source: "literal" | "stem" | "always" | "regex" | "follow-up" | "retained";
}
