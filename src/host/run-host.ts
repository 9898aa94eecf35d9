import type {
  CallDecision,
  Clock,
  EndReason,
  LoopOptions,
  LoopResult,
  LoopStatus,
  Message,
  StopRequest,
  UserMessage,
} from "../core/entry-kit.ts";
import type { HostedStream, JoinOptions } from "./hosted-event.ts";
import type { RunStore } from "./run-store.ts";

/**
 * The choices for `host.start` while a run of the conversation is live. "refuse" changes nothing. "steer" sends the message to the live run.
 * "queue" starts the new run when the live run has ended.
 */
export type WhenBusy = "refuse" | "steer" | "queue";

/** The options of `createRunHost`. */
export interface RunHostOptions {
  /** Stores conversations and journals. Default: `memoryRunStore()`. */
  readonly store?: RunStore | undefined;
  /** The choice for a start while a run of the conversation is live. Each start can override it. Default "refuse". */
  readonly whenBusy?: WhenBusy | undefined;
  /** The maximum number of starts and resumes that wait for the live run of one conversation. Others are refused. Default 10. */
  readonly maxQueued?: number | undefined;
  /** How long an ended run can be joined, in milliseconds from its end. Default 300,000. */
  readonly keepMs?: number | undefined;
  /**
   * The maximum estimated memory for the events of all ended runs, in bytes. The oldest runs are dropped first. Default 67,108,864
   * (64 MiB).
   */
  readonly maxBytes?: number | undefined;
  /** True if a run is stopped when its last reader leaves. Each start and resume can override it. Default false. */
  readonly stopWhenUnread?: boolean | undefined;
  /**
   * How long the store may take to read or write a conversation, in milliseconds. If it takes longer, the method of the host rejects with
   * LoopError "store-unresponsive". Default 60,000. `Infinity` sets no limit.
   */
  readonly storeMs?: number | undefined;
  /** Returns changed options for each run, for example with `withTracing`. Default: the options are not changed. */
  readonly wrapOptions?: ((options: LoopOptions) => LoopOptions) | undefined;
  /** The clock for `keepMs` and `storeMs`. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** The options of a run, without the options that the host sets. */
export type HostedLoopOptions = Omit<LoopOptions, "messages" | "runId" | "events" | "control" | "journal">;

/** The options of `host.start`. Pass exactly one of `message`, `messages` and `regenerate`. */
export type StartOptions = HostedLoopOptions & {
  /** The choice if a run of the conversation is live. Default: the host's `whenBusy`. */
  readonly whenBusy?: WhenBusy | undefined;
  /** True if the run is stopped when its last reader leaves. Default: the host's `stopWhenUnread`. */
  readonly stopWhenUnread?: boolean | undefined;
} & (
    | {
        /** The new user message. It is added to the stored transcript. */
        readonly message: string | UserMessage;
        readonly messages?: undefined;
        readonly regenerate?: undefined;
      }
    | {
        /** The whole conversation, for an application that stores its conversations itself. It replaces the stored transcript. */
        readonly messages: readonly Message[];
        readonly message?: undefined;
        readonly regenerate?: undefined;
      }
    | {
        /** Removes everything after the last user message, and lets the model answer that message again. */
        readonly regenerate: true;
        readonly message?: undefined;
        readonly messages?: undefined;
      }
  );

/** The options of `host.resume`. */
export interface ResumeOptions extends HostedLoopOptions {
  /**
   * Decisions about waiting calls, and results for calls that wait for one, by the call's `id` in `result.pendingCalls`. If an `id`
   * belongs to no waiting call, the resume rejects and nothing runs. Default: no decisions.
   */
  readonly decisions?: { readonly [id: string]: CallDecision } | undefined;
  /**
   * The choice if a run of the conversation is live in this process. "queue" waits until that run has ended or is suspended. Use it for a
   * result from a webhook, which may arrive before the run is suspended. Default "refuse".
   */
  readonly whenBusy?: "refuse" | "queue" | undefined;
  /** True if the run is stopped when its last reader leaves. Default: the host's `stopWhenUnread`. */
  readonly stopWhenUnread?: boolean | undefined;
}

/** A run that was started or resumed in this process. */
export interface HostedRun {
  /** The conversation, a slash, and the number of the run, from 1. */
  readonly runId: string;
  /** Resolves when the run has ended. Rejects with the errors of `runToolLoop`. Never causes an unhandled rejection. */
  readonly result: Promise<LoopResult>;
  /**
   * Reads this run from its start. If the run was resumed, all events from before the resume are marked as `replayed`, with or without a
   * restart of the server in between. A page that already shows the first part can skip replayed events.
   */
  join(options?: JoinOptions): HostedStream;
}

/** The answer to a start. */
export type StartAnswer =
  /** The run has begun, and its record is stored. */
  | ({ readonly kind: "started" } & HostedRun)
  /** The message was sent to the live run. `runId`, `result` and `join` belong to the live run. */
  | ({ readonly kind: "steered" } & HostedRun)
  /** Refused, because the conversation has a live run, in this or another process. An endpoint answers with 409. */
  | { readonly kind: "busy"; readonly runId: string | undefined }
  /** Refused, because the host is closed. An endpoint answers with 503. */
  | { readonly kind: "closed" };

/** The answer to a resume. */
export type ResumeAnswer =
  | ({ readonly kind: "started" } & HostedRun)
  | Extract<StartAnswer, { readonly kind: "busy" | "closed" }>
  /** The conversation does not exist, or its last run has ended. Nothing was changed. */
  | { readonly kind: "not-resumable"; readonly status: LoopStatus | undefined };

/** The state of a conversation. */
export interface HostedStatus {
  /** The `runId` of the last run. */
  readonly runId: string;
  /** How the last run ended, or "running" if its end is not stored yet. */
  readonly status: "running" | LoopStatus;
  /** Why the last run ended, or what the run waits for. Undefined while the status is "running". */
  readonly reason: EndReason | undefined;
  /** True if the run is live in this process. A "running" run that is not live was cut off, or is live in another process. */
  readonly isLive: boolean;
  /** The number of starts and resumes that wait for the live run in this process. */
  readonly queued: number;
  /** The transcript after the last run. While a run is live, the messages that the run began with. */
  readonly messages: readonly Message[];
}

/**
 * Runs conversations, and lets any number of readers follow each run. The `id` of a conversation is any non-empty string. The host does
 * not know your users, so check before each call that the user may access the conversation.
 */
export interface RunHost {
  /**
   * Starts the next run of a conversation, and resolves when the run has begun. Rejects with the LoopErrors of `runToolLoop` for misuse,
   * and with errors of the store. If it rejects, nothing was changed.
   */
  start(id: string, options: StartOptions): Promise<StartAnswer>;
  /**
   * Continues the last run from its journal if the run is suspended or was cut off. With `resume: "retry-last"`, also continues a run
   * with the status "error", "timeout" or "stopped-by-user". Rejects like `start`, and with LoopError "unknown-decision".
   */
  resume(id: string, options: ResumeOptions): Promise<ResumeAnswer>;
  /**
   * Reads the run that `from` belongs to if that run has later events, otherwise the last run of the conversation. Returns undefined if
   * this process does not have the run, or no longer has it. An endpoint then answers with 204.
   */
  join(id: string, options?: JoinOptions): HostedStream | undefined;
  /** Stops the live run of a conversation in this process. Waiting starts are not stopped. */
  stop(id: string, request?: StopRequest): "accepted" | "not-running";
  /** Returns the state of a conversation, or undefined if the conversation does not exist. */
  status(id: string): Promise<HostedStatus | undefined>;
  /**
   * Refuses new runs, and drains the live runs so that another process can resume them. Waits for the live runs and releases all
   * resources. Can be called more than once.
   */
  close(): Promise<void>;
}
