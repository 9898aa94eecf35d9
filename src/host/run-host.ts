import type {
  ApprovalDecision,
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
 * The answer to a start while a run of the conversation is live. "refuse" changes nothing. "steer" sends the message to the live run.
 * "queue" starts when the live run has ended.
 */
export type WhenBusy = "refuse" | "steer" | "queue";

/** The options of `createRunHost`. */
export interface RunHostOptions {
  /** Keeps conversations and journals. Default: `memoryRunStore()`. */
  readonly store?: RunStore | undefined;
  /** Default "refuse". A start may choose for itself. */
  readonly whenBusy?: WhenBusy | undefined;
  /** Most starts of one conversation that wait for its live run; further ones are refused. Default 10. */
  readonly maxQueued?: number | undefined;
  /** How long an ended run can be joined, in milliseconds from its end. Default 300,000. */
  readonly keepMs?: number | undefined;
  /** Most memory for the events of all ended runs, in bytes, estimated. The oldest are dropped first. Default 67,108,864 (64 MiB). */
  readonly maxBytes?: number | undefined;
  /** True if a run is stopped when its last reader leaves. Default false. A start may choose for itself. */
  readonly stopWhenUnread?: boolean | undefined;
  /** Wraps the options of each run, for example `withTracing`. Default: no change. */
  readonly wrapOptions?: ((options: LoopOptions) => LoopOptions) | undefined;
  /** Times `keepMs`. Default: the clock of the platform. */
  readonly clock?: Clock | undefined;
}

/** The options of a run, without those that belong to the host. */
export type HostedLoopOptions = Omit<LoopOptions, "messages" | "runId" | "events" | "control" | "journal">;

/** The options of `host.start`. Exactly one of `message`, `messages` and `regenerate` is given. */
export type StartOptions = HostedLoopOptions & {
  /** Default: that of the host. */
  readonly whenBusy?: WhenBusy | undefined;
  /** Default: that of the host. */
  readonly stopWhenUnread?: boolean | undefined;
} & (
    | {
        /** The new message of the user. It is added to the stored transcript. */
        readonly message: string | UserMessage;
        readonly messages?: undefined;
        readonly regenerate?: undefined;
      }
    | {
        /** The whole conversation, for an application that keeps it. It replaces the stored transcript. */
        readonly messages: readonly Message[];
        readonly message?: undefined;
        readonly regenerate?: undefined;
      }
    | {
        /** Drops everything after the last message of the user, and answers it again. */
        readonly regenerate: true;
        readonly message?: undefined;
        readonly messages?: undefined;
      }
  );

/** The options of `host.resume`. */
export interface ResumeOptions extends HostedLoopOptions {
  /** Decisions by the `id` of each waiting call. If one names a call that does not wait, the resume is refused and nothing runs. */
  readonly decisions?: { readonly [id: string]: ApprovalDecision } | undefined;
  /** Default: that of the host. */
  readonly stopWhenUnread?: boolean | undefined;
}

/** A run that this process has. */
export interface HostedRun {
  /** The conversation, a slash, and the number of the run, from 1. */
  readonly runId: string;
  /** Resolves when the run has ended. Rejects with the errors of `runToolLoop`; a rejection that nobody awaits is no error. */
  readonly result: Promise<LoopResult>;
  /**
   * Reads this run. If it was resumed, everything from before the resume is marked as `replayed`, as it is after a restart of the
   * server. So a page that has the first part can leave that out, in either case.
   */
  join(options?: JoinOptions): HostedStream;
}

/** The answer to a start. */
export type StartAnswer =
  /** The run has begun, and its record is stored. */
  | ({ readonly kind: "started" } & HostedRun)
  /** The live run got the message. `runId`, `result` and `join` are those of the live run. */
  | ({ readonly kind: "steered" } & HostedRun)
  /** Refused: the conversation has a live run, here or in another process. An endpoint answers with 409. */
  | { readonly kind: "busy"; readonly runId: string | undefined }
  /** Refused: the host is closed. An endpoint answers with 503. */
  | { readonly kind: "closed" };

/** The answer to a resume. */
export type ResumeAnswer =
  | ({ readonly kind: "started" } & HostedRun)
  | Extract<StartAnswer, { readonly kind: "busy" | "closed" }>
  /** There is no such conversation, or its last run has ended. Nothing was changed. */
  | { readonly kind: "not-resumable"; readonly status: LoopStatus | undefined };

/** The state of a conversation. */
export interface HostedStatus {
  /** The last run. */
  readonly runId: string;
  /** How the last run ended; "running" until then. */
  readonly status: "running" | LoopStatus;
  /** Why it ended, or what it waits for. */
  readonly reason: EndReason | undefined;
  /** True if the run is live in this process. If it is "running" and not live here, it was cut off, or another process has it. */
  readonly isLive: boolean;
  /** Starts that wait in this process. */
  readonly queued: number;
  /** The transcript after the last run. While a run works, the messages that it began with. */
  readonly messages: readonly Message[];
}

/**
 * Runs conversations, and lets any number of readers follow each. An id is a conversation: any text that is not empty. The host
 * does not know users, so check that the user may use the id before each call.
 */
export interface RunHost {
  /**
   * Starts the next run of a conversation, and resolves when it has begun. Rejects with the LoopErrors of `runToolLoop` for misuse,
   * and with errors of the store. In both cases nothing was changed.
   */
  start(id: string, options: StartOptions): Promise<StartAnswer>;
  /**
   * Continues the last run if it is suspended or was cut off, with the messages that it began with. With `resume: "retry-last"`, also
   * continues a run that ended with an error. Rejects like `start`, and with LoopError "unknown-decision".
   */
  resume(id: string, options: ResumeOptions): Promise<ResumeAnswer>;
  /**
   * Reads the last run of a conversation, or the run that `from` belongs to. Returns undefined if this process does not have it, or
   * no longer has it. An endpoint then answers with 204.
   */
  join(id: string, options?: JoinOptions): HostedStream | undefined;
  /** Stops the live run of a conversation, wherever its readers are. Starts that wait are not stopped. */
  stop(id: string, request?: StopRequest): "accepted" | "not-running";
  /** Reads the state of a conversation; undefined if there is none. */
  status(id: string): Promise<HostedStatus | undefined>;
  /**
   * Refuses new runs, drains the live ones so that another process can resume them, waits for them, and releases everything. May be
   * called more than once.
   */
  close(): Promise<void>;
}
