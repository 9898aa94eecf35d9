import type { Plain, ResultFields, WaitingCall } from "../core/kit.ts";
import type { EntryOptions, StopRequest } from "../core/types/loop-options.ts";
import type { MiddlewareList } from "../core/types/middleware.ts";
import type { OutsideResult } from "../core/types/middleware-options.ts";
import type { AnyTool } from "../core/types/tool.ts";
import type {
  Clock,
  EndReason,
  LoopError,
  LoopEvent,
  LoopOptions,
  LoopResult,
  LoopStatus,
  Message,
  Tool,
} from "../core/index.ts";
import type { PageMessage } from "../web/read-user-message.ts";
import type { ConversationUsage } from "../conversation/handover.ts";
import type { KeepRuns } from "../conversation/keep-runs.ts";
import type { ConversationStore, ConversationTurn, StoredListing } from "../conversation/conversation-store.ts";
import type { WhenSuspended } from "../conversation/waiting-calls.ts";

/**
 * One event of a hosted run. `id` is an opaque string that is unique in the run. To get all later events, pass this `id` as the
 * `from` option of `host.join`.
 */
export interface HostedEvent<T extends AnyTool = AnyTool> {
  readonly id: string;
  readonly event: LoopEvent<T>;
}

/** The events of a hosted run for one reader. Can be iterated only once. `T` is the union of the tools' types. */
export interface HostedStream<T extends AnyTool = AnyTool> extends AsyncIterable<HostedEvent<T>> {
  readonly runId: string;
  /**
   * True if this process does not know the event id that was passed as `from`. The reader then receives all events from the start of
   * the run, so a web page must clear what it shows.
   */
  readonly restarted: boolean;
  /** True if the run has ended and this reader has read all events. An endpoint can then answer with 204. */
  readonly isOver: boolean;
}

/** The options for joining a run. */
export interface JoinOptions {
  /** The id of the last event that the reader has. Default: the reader receives all events from the start of the run. */
  readonly from?: string | undefined;
  /** When this signal aborts, the reader leaves the run, and the stream of events ends without an error. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How `host.start` behaves while a run of the conversation is live. "refuse" returns the answer "busy". "steer" sends the message
 * to the live run. "queue" starts the new run after the live run has ended.
 */
export type WhenBusy = "refuse" | "steer" | "queue";

/** The options of `createRunHost`. */
export interface RunHostOptions {
  /** Stores conversations and the journals of their runs. Default: `memoryConversationStore()`. */
  readonly store?: ConversationStore | undefined;
  /** How `start` responds while a run of the conversation is live. Each call can override this option. Default "refuse". */
  readonly whenBusy?: WhenBusy | undefined;
  /**
   * How a new message is handled while the last run's calls are waiting for decisions or results. Each call to `start` can override this
   * option. Default "refuse".
   */
  readonly whenSuspended?: WhenSuspended | undefined;
  /**
   * How many journals of ended runs are kept in each conversation: a number of runs, or `{ days }`. `Infinity` keeps all. Each run
   * that ends removes the journals of older runs. The last run's journal is always kept. An older journal is kept if its run is
   * suspended, its answer is not stored, or, with `pricing`, its cost is unknown. Default 1.
   */
  readonly keepRuns?: KeepRuns | undefined;
  /**
   * The maximum number of calls to `start` and `resume` that may wait for one conversation's live run. Additional calls are answered with
   * "busy". Default 10.
   */
  readonly maxQueued?: number | undefined;
  /** How long readers can join a run after it ends, in milliseconds. Default 300,000. */
  readonly keepMs?: number | undefined;
  /**
   * The maximum memory for the events of all ended runs, in estimated bytes. The oldest runs are dropped first. Default
   * 67,108,864 (64 MiB).
   */
  readonly maxBytes?: number | undefined;
  /** True to stop a run when its last reader leaves. Each call to `start` or `resume` can override this option. Default false. */
  readonly stopWhenUnread?: boolean | undefined;
  /**
   * How long the store may take to read or write a conversation, in milliseconds. After that, the host's method rejects with
   * LoopError "store-unresponsive". `Infinity` sets no limit. Default 60,000.
   */
  readonly storeMs?: number | undefined;
  /** Returns changed options for each run, for example to write each run's log to its own file. Default: the options are not changed. */
  readonly wrapOptions?: ((options: LoopOptions) => LoopOptions) | undefined;
  /** The clock that measures `keepMs` and `storeMs`. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** The options of `runToolLoop`, except those that the host sets itself. */
export type HostedLoopOptions<Output = unknown, T extends Tool = Tool> = EntryOptions<
  "messages" | "runId" | "events" | "control" | "journal",
  Output,
  T
>;

/** The options of `host.start`. Pass exactly one of `message`, `messages` and `regenerate`. */
export type StartOptions<Output = unknown, T extends Tool = Tool> = HostedLoopOptions<Output, T> & {
  /** How `start` responds while a run of the conversation is live. Default: the host's `whenBusy`. */
  readonly whenBusy?: WhenBusy | undefined;
  /** How `start` responds while tool calls of the last run are waiting. Default: the host's `whenSuspended`. */
  readonly whenSuspended?: WhenSuspended | undefined;
  /** True to stop the run when its last reader leaves. Default: the host's `stopWhenUnread`. */
  readonly stopWhenUnread?: boolean | undefined;
} & (
    | {
        /**
         * The new user message, which is appended to the stored transcript. If the conversation already contains a message with the
         * same `id`, no second turn begins: a repeated message is answered by the run that it started.
         */
        readonly message: string | PageMessage;
        readonly messages?: undefined;
        readonly regenerate?: undefined;
      }
    | {
        /**
         * The whole conversation, which replaces the stored transcript. For applications that store their conversations
         * themselves.
         */
        readonly messages: readonly Message[];
        readonly message?: undefined;
        readonly regenerate?: undefined;
      }
    | {
        /** Removes all messages after the last user message, so that the model answers this message again. */
        readonly regenerate: true;
        readonly message?: undefined;
        readonly messages?: undefined;
      }
  );

/** The options of `host.resume`. */
export type ResumeOptions<Output = unknown, T extends Tool = Tool> = HostedLoopOptions<Output, T> & {
  /**
   * Decisions and results for waiting calls, by the call's `id` in `result.pendingCalls`. If an `id` belongs to no waiting call,
   * `resume` rejects and nothing runs. Default: no decisions.
   */
  readonly answers?: LoopOptions["answers"];
  /**
   * How `resume` responds while a run of the conversation is live in this process. "queue" waits until that run has ended or is
   * suspended. Use "queue" for a webhook, which may send its result before the run is suspended. "refuse" returns the answer
   * "busy". Default "refuse".
   */
  readonly whenBusy?: "refuse" | "queue" | undefined;
  /** True to stop the run when its last reader leaves. Default: the host's `stopWhenUnread`. */
  readonly stopWhenUnread?: boolean | undefined;
};

/**
 * A run that was started or resumed in this process. `T` is the union of its tools' types. `Fields` are the fields that middleware
 * adds to the result.
 */
export interface HostedRun<Output = unknown, T extends AnyTool = AnyTool, Fields = unknown> {
  /** The conversation's id, a slash, and the run's number, counted from 1. */
  readonly runId: string;
  /**
   * Resolves when the run has ended. Rejects with errors from `runToolLoop`. A rejection without a handler does not end the
   * process.
   */
  readonly result: Promise<LoopResult<Output, T> & Fields>;
  /**
   * Reads this run from its start. If the run was resumed, all events from before the resume are marked as `replayed`, so a web page that
   * already shows the first part of the run can skip them.
   */
  join(options?: JoinOptions): HostedStream<T>;
}

/** The answer that `host.start` returns. */
export type StartAnswer<Output = unknown, T extends AnyTool = AnyTool, Fields = unknown> =
  /**
   * The run has begun, and its beginning is stored. If `repeated` is true, the conversation already contained the message, and the run
   * is the one that this message started.
   */
  | ({ readonly kind: "started"; readonly repeated?: true | undefined } & HostedRun<Output, T, Fields>)
  /** The message was passed to the live run. `runId`, `result` and `join` belong to that run. */
  | ({ readonly kind: "steered" } & HostedRun)
  /** The start was refused, because the conversation has a live run in this or another process. An endpoint can answer with 409. */
  | { readonly kind: "busy"; readonly runId: string | undefined }
  /**
   * The start was refused, because the last run's calls are waiting for decisions or results. An endpoint can answer with 409. `error` is a
   * LoopError "conversation-refused" that names the calls, for programs that prefer to throw.
   */
  | {
      readonly kind: "waiting";
      readonly runId: string;
      readonly calls: readonly WaitingCall[];
      readonly error: LoopError<"conversation-refused">;
    }
  /**
   * The conversation already contains the message, and the run that it started cannot be read again. Nothing was changed. An endpoint can
   * answer with 409.
   */
  | { readonly kind: "repeated"; readonly runId: string }
  /**
   * The web page edited a message that the conversation does not contain, or asked for a new answer to it, or reused the id of a different
   * message. Nothing was changed. An endpoint can answer with 409. The page must then reload the conversation.
   */
  | { readonly kind: "unknown-message" }
  /** The start was refused, because the host is closed. An endpoint can answer with 503. */
  | { readonly kind: "closed" };

/** The answer that `host.cancel` returns. "busy" means that a run of the conversation is live, in this or another process. */
export type CancelAnswer = "cancelled" | "not-suspended" | "busy" | "closed";

/**
 * The answer that `host.remove` returns. "unknown" means that the conversation does not exist: the id may be wrong. "busy" means that a
 * run of the conversation is live, in this or another process.
 */
export type RemoveAnswer = "removed" | "unknown" | "busy" | "closed";

/** The answer that `host.resume` returns. */
export type ResumeAnswer<Output = unknown, T extends AnyTool = AnyTool, Fields = unknown> =
  | ({ readonly kind: "started" } & HostedRun<Output, T, Fields>)
  | Extract<StartAnswer, { readonly kind: "busy" | "closed" }>
  /** The conversation does not exist, or its last run has ended and cannot continue. Nothing was changed. */
  | { readonly kind: "not-resumable"; readonly status: LoopStatus | undefined };

/** A conversation's state, and the usage and cost of its runs. A live run is not counted until it has ended. */
export interface HostedStatus extends ConversationUsage {
  /** The `runId` of the last run. */
  readonly runId: string;
  /** How the last run ended. "running" until the end of the run is stored. */
  readonly status: "running" | LoopStatus;
  /** Why the last run ended or is suspended. Undefined while the status is "running". */
  readonly reason: EndReason | undefined;
  /**
   * True if the run is live in this process. If this is false and the status is "running", the run is live in another process, or was
   * interrupted by a crash.
   */
  readonly isLive: boolean;
  /** The number of calls to `start` and `resume` in this process that are waiting for the live run to end. */
  readonly queued: number;
  /**
   * The conversation's transcript. While a run is live, the transcript contains only the messages that the run began with. After the run,
   * messages that arrived too late are at the end of the transcript, and the next run answers them.
   */
  readonly messages: readonly Message[];
  /** All ended runs whose answers are in `messages`, in order. `toUIMessages` uses them for the metadata of old answers. */
  readonly turns: readonly ConversationTurn[];
}

/**
 * Runs conversations, and lets any number of readers follow each run. The `id` of a conversation has 1 to 200 characters without
 * slashes, backslashes or control characters. The host does not know your users, so check before each call that the user may access
 * the conversation.
 */
export interface RunHost {
  /**
   * Starts the next run of a conversation, and resolves when the run has begun. Rejects with the LoopErrors that `runToolLoop`
   * throws for misuse, and with errors from the store. If `start` rejects, nothing was changed.
   */
  start<Output = unknown, T extends Tool = Tool, List extends readonly [] | readonly unknown[] = readonly []>(
    id: string,
    options: StartOptions<Output, T> & { readonly middleware?: List | MiddlewareList<Output> | undefined },
  ): Promise<StartAnswer<Plain<Output>, T, ResultFields<List>>>;
  /**
   * Continues the last run from its journal if the run is suspended or was interrupted by a crash. With `resume: "retry-last"`, also
   * continues a run with the status "error", "timeout" or "stopped-by-user". Rejects in the same cases as `start`, and also with
   * LoopError "unknown-decision" if an answer names no waiting call.
   */
  resume<Output = unknown, T extends Tool = Tool, List extends readonly [] | readonly unknown[] = readonly []>(
    id: string,
    options: ResumeOptions<Output, T> & { readonly middleware?: List | MiddlewareList<Output> | undefined },
  ): Promise<ResumeAnswer<Plain<Output>, T, ResultFields<List>>>;
  /**
   * Reads the run that contains the event with the id `from`, if that run has later events. Otherwise, reads the conversation's last
   * run. Returns undefined if this process does not have the run's events in memory. An endpoint can then answer
   * with 204.
   */
  join(id: string, options?: JoinOptions): HostedStream | undefined;
  /**
   * Answers a question that a tool of the live run asked with `ask` and `wait: true`, as `control.answer` does. `question` is
   * the `id` in the `question-asked` event. Returns "unknown" if no question with this id is waiting in this process.
   */
  answer(id: string, question: string, answer: OutsideResult): "accepted" | "unknown";
  /**
   * Stops the live run of a conversation in this process. Any call to `start` or `resume` that is waiting for this run can then continue.
   */
  stop(id: string, request?: StopRequest): "accepted" | "not-running";
  /**
   * Ends a suspended run with the status "stopped-by-user". Calls waiting for approval are denied, and calls waiting for a result are
   * interrupted. Does not need the run's options.
   */
  cancel(id: string, request?: StopRequest): Promise<CancelAnswer>;
  /**
   * Deletes a conversation and all its journals. Stop a live run first: `remove` then waits for it to end. Returns
   * "unknown" if the conversation does not exist.
   */
  remove(id: string): Promise<RemoveAnswer>;
  /**
   * Lists the store's conversations, in any order. Use it, for example, to remove conversations that have not been used for a
   * long time. Throws LoopError "invalid-option" if the store has no `list` method.
   */
  list(): AsyncIterable<StoredListing>;
  /**
   * Returns a conversation's state, or undefined if the conversation does not exist. If another process has continued the conversation, the
   * events of this process are outdated and are forgotten: `join` then returns undefined.
   */
  status(id: string): Promise<HostedStatus | undefined>;
  /**
   * Refuses new runs, drains the live runs so that another process can resume them, waits until they have ended, and releases all
   * resources. Can be called more than once.
   */
  close(): Promise<void>;
}
