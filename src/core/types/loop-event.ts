import type { EventEmitter } from "eventemitter3";
import type { Json } from "./json.ts";
import type { UserMessage } from "./message.ts";
import type { PlainError, ProviderError, Usage } from "./common.ts";
import type { FinishReason } from "./provider.ts";
import type { EndReason, LoopStatus, StreamStatus } from "./termination.ts";
import type { ToolCall, ToolOutcome } from "./tool-outcome.ts";

/** The fields of every event. */
export interface EventBase {
  readonly runId: string;
  /** 0-based iteration. */
  readonly iteration: number;
  /** Ids of the calls around a nested run, outermost first. Only on events of nested runs. */
  readonly path?: readonly string[] | undefined;
  /** True if the step was recalled from a journal and did not happen again. */
  readonly replayed?: boolean | undefined;
}

/** An event of one call. All events of a call have the same `callId` and the same `index`. */
export interface CallEvent extends EventBase {
  /** Unique in the run. */
  readonly callId: string;
  readonly name: string;
  /** Place of the call among the calls of its iteration, from 0. */
  readonly index: number;
}

/** One call of an iteration, and how it ended. */
export interface CallSummary extends Pick<CallEvent, "callId" | "name" | "index"> {
  /**
   * The outcome of its `tool-end`; "waiting" if it is "deferred". Without that event: "waiting" if the call can begin when the run
   * is resumed, else "not-run".
   */
  readonly outcome: ToolOutcome["kind"] | "waiting";
}

/** The size of a result before and after a change, in estimated tokens. */
export interface ResultEvent extends CallEvent {
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** A text fragment. `attempt` is set if a wrapping provider numbers its attempts. */
export interface DeltaEvent extends EventBase {
  readonly text: string;
  readonly attempt?: number | undefined;
}

/** Every event and its payload. Events nest as a tree: run > iteration > tool. Each start has exactly one end. */
export interface LoopEvents {
  /** The run begins, before its first iteration. */
  "run-start": EventBase & { readonly provider: string; readonly model: string };
  /** The last event of every run: how it ended, and its usage. */
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
   * A resumed run begins new work. Sent once, by the outermost run, before the first model request, tool call or hook that its
   * journal does not have. If the journal has them all, it is sent before `run-end`. A run that recalls none of these sends none.
   */
  "replay-end": EventBase;
  /** A stream begins; `continuation` counts the streams of one iteration, from 0. */
  "iteration-start": EventBase & { readonly continuation: number };
  /** An iteration is over, its calls included, with the facts of its stream. */
  "iteration-end": EventBase & {
    readonly continuation: number;
    readonly status: StreamStatus;
    readonly provider: string;
    readonly model: string;
    readonly finish: FinishReason | undefined;
    readonly usage: Usage | undefined;
    readonly costUSD: number | undefined;
    /**
     * All calls of the iteration, in the order of the model. Empty if the service paused; the last stream of the iteration then
     * lists them.
     */
    readonly calls: readonly CallSummary[];
    readonly durationMs: number;
  };
  /** Text of the model's answer. */
  "text-delta": DeltaEvent;
  /** Text of the model's reasoning. */
  "reasoning-delta": DeltaEvent;
  /** A fragment of a call's arguments. */
  "tool-args-delta": CallEvent & { readonly text: string };
  /**
   * The arguments of a call are complete. Emitted once for each call, before it is approved or run. `problem` is set if they
   * cannot be used: "malformed" if they are not JSON, "truncated" if they were cut off.
   */
  "tool-args-end": CallEvent & { readonly args: Json; readonly problem?: ToolCall["problem"] };
  /** A call begins, is refused, or gets its result from outside. */
  "tool-start": CallEvent & { readonly args: Json };
  /** A running tool called `ctx.progress`. */
  "tool-progress": CallEvent & { readonly data: unknown };
  /** A call has its outcome. After "deferred", its result comes with another `tool-start` and `tool-end`. */
  "tool-end": CallEvent & {
    readonly outcome: ToolOutcome["kind"];
    /** The text that the model will read, unless `policies.results` changes it. */
    readonly result: Json;
    readonly durationMs: number;
    /** The metadata of `toolResult({ metadata })`; absent on replay. */
    readonly metadata?: unknown;
  };
  /** A notice for users. */
  notice: EventBase & { readonly kind: "still-working" | "max-iterations" | "tool-error-cap" | "stream-timeout" };
  /**
   * For a thought log only: the phrase that made deliberate mode expose a called tool. Sent whatever the outcome of the call is.
   * Secrets in `args` are redacted, and long texts are cut.
   */
  "hidden-notice": CallEvent & { readonly trigger: TriggerMatch; readonly args: Json };
  /** A result requested a restart with more context. */
  restart: CallEvent & {
    readonly suffix: string;
    readonly disableTools: readonly string[];
    /** "found" if the stash had an item for its `pending_context_key`, else "missing". Absent if the result has no such key. */
    readonly pendingContext?: "found" | "missing" | undefined;
  };
  /** The approval policy is called for a tool call. */
  "approval-asked": CallEvent & { readonly args: Json };
  /** The decision. `error` is set if there is none. */
  "approval-decided": CallEvent & {
    readonly decision: "approve" | "deny" | "modify" | "failed";
    /** The new arguments of "modify", before they are validated. */
    readonly args?: Json | undefined;
    readonly reason?: string | undefined;
    readonly error?: PlainError | undefined;
  };
  /** The model repeats its calls: a sequence of `cycle` iterations occurred for the `count`th time in a row. */
  "loop-detected": EventBase & {
    /** The first tool of the iteration. */
    readonly toolName: string;
    readonly count: number;
    readonly cycle: number;
    readonly action: LoopAction;
  };
  /** The processor of `policies.results` changed a result. */
  "result-processed": ResultEvent;
  /** The extractor of `policies.results` condensed a result. */
  "result-extracted": ResultEvent;
  /** The cacher of `policies.results` stored a result and put a short text in its place. */
  "result-cached": ResultEvent;
  /** Old results are left out from this request on: the ids of their calls, and the estimated tokens of all of them together. */
  masked: EventBase & { readonly calls: readonly string[]; readonly tokensBefore: number; readonly tokensAfter: number };
  /** A message to `control.steer` joined the transcript. */
  steered: EventBase & { readonly message: UserMessage };
  /** A wrapping provider discarded the output of an attempt. */
  "attempt-discarded": EventBase & { readonly attempt: number; readonly error: ProviderError };
  /** A tool that the loop no longer waited for has ended. Its value is dropped. */
  "late-result": CallEvent & { readonly success: boolean };
  /** A listener, `gate.retain`, `pricing`, the stash or a stage of `results` threw or rejected. Each listener is reported once per run. */
  "listener-error": EventBase & { readonly event: string; readonly error: PlainError };
}

/** The name of an event. */
export type LoopEventType = keyof LoopEvents;

/** Any event, as `streamToolLoop` yields it. */
export type LoopEvent = {
  readonly [Type in LoopEventType]: { readonly type: Type } & LoopEvents[Type];
}[LoopEventType];

/** An eventemitter3 of loop events. */
export type LoopEmitter = EventEmitter<{ [Type in LoopEventType]: [event: LoopEvents[Type]] }>;

/** Receives the events of a run. */
export interface EventSink {
  readonly runId: string;
  /** Returns true if there is a listener. Payloads of frequent events are only built then. */
  wants(type: LoopEventType): boolean;
  /** Sends an event. Its payload includes `type`, so that one object serves listeners and readers. */
  send(event: LoopEvent): void;
  /** Resolves when a reader that is slower than the model has caught up. */
  room(): Promise<void> | undefined;
}

/** The reaction to a model that repeats its calls. */
export type LoopAction = "warn" | "stop" | "inject-warning";

/** The phrase that made deliberate mode expose a tool. */
export interface TriggerMatch {
  readonly trigger: string;
  readonly match: string;
  readonly source: "literal" | "stem" | "always" | "regex" | "follow-up" | "retained";
}
