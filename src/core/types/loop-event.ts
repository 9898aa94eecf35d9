import type { EventEmitter } from "eventemitter3";
import type { Json } from "./json.ts";
import type { UserMessage } from "./message.ts";
import type { PlainError, ProviderError, Usage } from "./common.ts";
import type { FinishReason } from "./provider.ts";
import type { EndReason, LoopStatus, StreamStatus } from "./termination.ts";
import type { ToolCall, ToolOutcome } from "./tool-outcome.ts";

/** The fields that every event has. */
export interface EventBase {
  readonly runId: string;
  /** The number of the iteration, counted from 0. */
  readonly iteration: number;
  /** Only set on events from nested runs: the ids of the calls that contain the nested run, outermost first. */
  readonly path?: readonly string[] | undefined;
  /** True if the step was replayed from a journal and did not happen again. */
  readonly replayed?: boolean | undefined;
}

/** An event about one call. All events about a call have the same `callId` and the same `index`. */
export interface CallEvent extends EventBase {
  /** The id of the call, unique in the run. */
  readonly callId: string;
  readonly name: string;
  /** The position of the call among the calls of its iteration, counted from 0. */
  readonly index: number;
}

/** One call of an iteration, and how it ended. */
export interface CallSummary extends Pick<CallEvent, "callId" | "name" | "index"> {
  /**
   * The outcome in the `tool-end` event of the call, or "waiting" if that outcome is "deferred". A call without a `tool-end` is
   * "waiting" if it can begin when the run is resumed, and "not-run" otherwise.
   */
  readonly outcome: ToolOutcome["kind"] | "waiting";
}

/** The size of a result before and after a change, in estimated tokens. */
export interface ResultEvent extends CallEvent {
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** A text fragment. `attempt` is set if the provider numbers its attempts, as `withRetry` and `withFallback` do. */
export interface DeltaEvent extends EventBase {
  readonly text: string;
  readonly attempt?: number | undefined;
  /** True if the output of the attempt will not be discarded: each attempt of `withRetry`, and the last one of `withFallback`. */
  readonly isFinal?: true | undefined;
}

/** Every event and its payload. Events are nested: run > iteration > tool. Each start event has exactly one end event. */
export interface LoopEvents {
  /** The run starts, before its first iteration. */
  "run-start": EventBase & { readonly provider: string; readonly model: string };
  /** The run has ended. The last event of every run. */
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
   * A resumed run begins new work. Sent once, by the outermost run, before its first model request, tool call or hook that is not
   * in the journal. If all of them are in the journal, the event is sent before `run-end`. A run that replays no model request,
   * tool call or hook does not send it.
   */
  "replay-end": EventBase;
  /** A stream starts. `continuation` is the number of the stream within its iteration, counted from 0. */
  "iteration-start": EventBase & { readonly continuation: number };
  /** A stream and its calls have ended. The payload describes the stream. */
  "iteration-end": EventBase & {
    readonly continuation: number;
    readonly status: StreamStatus;
    readonly provider: string;
    readonly model: string;
    readonly finish: FinishReason | undefined;
    readonly usage: Usage | undefined;
    readonly costUSD: number | undefined;
    /**
     * All calls of the iteration, in the order in which the model made them. Empty if the service paused its message: then the
     * event for the last stream of the iteration has all calls.
     */
    readonly calls: readonly CallSummary[];
    readonly durationMs: number;
  };
  /** A text fragment of the model's answer. */
  "text-delta": DeltaEvent;
  /** A text fragment of the model's reasoning. */
  "reasoning-delta": DeltaEvent;
  /** A fragment of a call's arguments. */
  "tool-args-delta": CallEvent & { readonly text: string };
  /**
   * The arguments of a call are complete. Emitted once for each call, before the call is approved or run. `problem` is set if the
   * arguments cannot be used: "malformed" if they are not JSON, and "truncated" if they were cut off.
   */
  "tool-args-end": CallEvent & { readonly args: Json; readonly problem?: ToolCall["problem"] };
  /** A call begins, is refused, or gets its result from outside. */
  "tool-start": CallEvent & { readonly args: Json };
  /** A running tool called `context.progress(data)`. */
  "tool-progress": CallEvent & { readonly data: unknown };
  /** A call has its outcome. If the outcome is "deferred", the result comes later, with another `tool-start` and `tool-end`. */
  "tool-end": CallEvent & {
    readonly outcome: ToolOutcome["kind"];
    /** The result as the model will read it, unless `policies.results` changes it. */
    readonly result: Json;
    readonly durationMs: number;
    /** The metadata that the tool passed to `toolResult({ metadata })`. Absent on replay. */
    readonly metadata?: unknown;
  };
  /** Something that a user interface may show to users. */
  notice: EventBase & { readonly kind: "still-working" | "max-iterations" | "tool-error-cap" | "stream-timeout" };
  /**
   * A tool was called that deliberate mode allowed because of a phrase. Meant only for a thought log, not for users. Sent whether
   * the call succeeds or fails. Secrets in `args` are redacted, and long texts are cut.
   */
  "hidden-notice": CallEvent & { readonly trigger: TriggerMatch; readonly args: Json };
  /** A tool result requested a context restart: the run continues with more context. */
  restart: CallEvent & {
    readonly suffix: string;
    readonly disableTools: readonly string[];
    /**
     * "found" if the stash has an item for the `pending_context_key` of the result, "missing" if not. Absent if the result has no
     * such key.
     */
    readonly pendingContext?: "found" | "missing" | undefined;
  };
  /** The approval policy is about to decide about a tool call. */
  "approval-asked": CallEvent & { readonly args: Json };
  /** The approval policy or the option `decisions` has decided about a tool call. `error` is set if there is no decision. */
  "approval-decided": CallEvent & {
    readonly decision: "approve" | "deny" | "modify" | "failed";
    /**
     * The `id` of the call in `pendingCalls` while it waited, without the ids in `path`. Absent if the call did not wait: the policy
     * decided immediately.
     */
    readonly question?: string | undefined;
    /** The new arguments of "modify", before they are validated. */
    readonly args?: Json | undefined;
    readonly reason?: string | undefined;
    readonly error?: PlainError | undefined;
  };
  /** The model repeats its calls: a sequence of `cycle` iterations has occurred `count` times in a row. */
  "loop-detected": EventBase & {
    /** The first tool that the iteration called. */
    readonly toolName: string;
    readonly count: number;
    readonly cycle: number;
    readonly action: LoopAction;
  };
  /** The processor of `policies.results` changed a result. */
  "result-processed": ResultEvent;
  /** The extractor of `policies.results` condensed a result. */
  "result-extracted": ResultEvent;
  /** The cacher of `policies.results` stored a result and replaced it with a short text. */
  "result-cached": ResultEvent;
  /**
   * Old results are omitted from this request and all later requests. `calls` has the ids of their calls. The token numbers are
   * sums for all these results.
   */
  masked: EventBase & { readonly calls: readonly string[]; readonly tokensBefore: number; readonly tokensAfter: number };
  /** A message from `control.steer` was added to the transcript. */
  steered: EventBase & { readonly message: UserMessage };
  /**
   * A provider such as `withRetry` or `withFallback` discarded the output of an attempt. Also sent after `iteration-end` if `resume:
   * "retry-last"` discards the last message. `attempt` and `error` are then absent.
   */
  "attempt-discarded": EventBase & { readonly attempt?: number | undefined; readonly error?: ProviderError | undefined };
  /** A tool has ended after the loop had stopped waiting for it. The result is dropped. */
  "late-result": CallEvent & { readonly success: boolean };
  /**
   * A listener, `gate.retain`, `pricing`, the stash or a stage of `policies.results` threw or rejected. Each listener is reported at
   * most once per run.
   */
  "listener-error": EventBase & { readonly event: string; readonly error: PlainError };
}

/** The name of an event. */
export type LoopEventType = keyof LoopEvents;

/** Any event, as `streamToolLoop` yields it. */
export type LoopEvent = {
  readonly [Type in LoopEventType]: { readonly type: Type } & LoopEvents[Type];
}[LoopEventType];

/** An eventemitter3 for loop events. */
export type LoopEmitter = EventEmitter<{ [Type in LoopEventType]: [event: LoopEvents[Type]] }>;

/** Receives the events of a run. */
export interface EventSink {
  readonly runId: string;
  /** Returns true if the event has a listener. If not, the caller need not build the payload of a frequent event. */
  wants(type: LoopEventType): boolean;
  /** Sends an event. The payload includes `type`, so that listeners and stream readers can get the same object. */
  send(event: LoopEvent): void;
  /** Returns undefined if the reader can take more events. Otherwise returns a promise that resolves when the reader can. */
  room(): Promise<void> | undefined;
}

/** The reaction to a model that repeats its calls. */
export type LoopAction = "warn" | "stop" | "inject-warning";

/** The phrase that made deliberate mode allow a tool. */
export interface TriggerMatch {
  readonly trigger: string;
  readonly match: string;
  readonly source: "literal" | "stem" | "always" | "regex" | "follow-up" | "retained";
}
