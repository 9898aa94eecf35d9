import type { ContextOf, Plain, ResultFields } from "../core/kit.ts";
import type { EntryOptions, RunOptions } from "../core/types/loop-options.ts";
import type { InheritedContextOption } from "../core/types/typed-call.ts";
import type { MiddlewareList } from "../core/types/middleware.ts";
import type {
  EndReason,
  Journal,
  LoopOptions,
  LoopResult,
  LoopStatus,
  LoopStream,
  Message,
  Tool,
  UserMessage,
} from "../core/index.ts";
import type { ConversationUsage } from "./handover.ts";
import type { KeepRuns } from "./keep-runs.ts";
import type { WhenSuspended } from "./waiting-calls.ts";
import type { ConversationStore } from "./conversation-store.ts";

type ConversationOwnOptions = "messages" | "runId" | "journal" | "answers" | "resume";

/** The `runToolLoop` options, except those that the conversation sets itself. */
export type ConversationRunOptions<Output = unknown, T extends Tool = Tool> = EntryOptions<ConversationOwnOptions, Output, T>;

/**
 * Options for one run. They replace the conversation's options. The fields of `limits`, `timeouts`, `session` and `modelSettings` are
 * replaced one by one. `T` is the type of the run's tools, and `Base` is the type of the conversation's tools. The `context` option is
 * required if the run's tools need a different context from the conversation's tools.
 */
export type RunOverrides<Output = unknown, T extends Tool = Tool, Base extends Tool = T> = Partial<
  Omit<RunOptions<Output, T>, ConversationOwnOptions>
> &
  InheritedContextOption<T, ContextOf<Base>>;

/** The options for `resume` and `resumeStream`: options for one run, and the decisions about waiting calls. */
export type ResumeOverrides<Output = unknown, T extends Tool = Tool, Base extends Tool = T> = RunOverrides<Output, T, Base> & {
  /** The decisions and results for waiting calls. The keys are the `id` values in `reason.calls`. */
  readonly answers?: LoopOptions["answers"];
  /** Set to "retry-last" to also continue a run with the status "error", "timeout" or "stopped-by-user". */
  readonly resume?: "retry-last" | undefined;
};

/** The options for `createConversation`. */
export interface ConversationOptions<Output = unknown, T extends Tool = Tool> {
  /**
   * Identifies the conversation in the store: 1 to 200 characters without slashes, backslashes or control characters. The store does not
   * know your users, so check that the user may open this conversation.
   */
  readonly id: string;
  /** The store, for example `fileConversationStore("chats")`. */
  readonly store: ConversationStore;
  /** The options for every run. `session.conversationId` defaults to `id`. */
  readonly options: ConversationRunOptions<Output, T>;
  /**
   * Returns the journal of a run. With a durable journal, another process can resume a run that was suspended, or whose process
   * was killed. Each call with the same `runId` must return a journal with the same records. Run ids can be used as file names.
   * Default: a journal in memory, for the last run of this object.
   */
  readonly journal?: ((runId: string) => Journal) | undefined;
  /**
   * Removes a run's journal, for example its file. Called for journals that `keepRuns` does not keep, and by `remove`. If it throws, the
   * conversation tries again after a later run. Default: `store.removeJournal` if `journal` is set, so only journals outside the store are
   * kept.
   */
  readonly removeJournal?: ((runId: string) => void | PromiseLike<void>) | undefined;
  /**
   * How many journals of ended runs are kept: a number of runs, or `{ days }`. `Infinity` keeps all. The last run's journal
   * is always kept. An older journal is kept if its run is suspended, its answer is not stored, or, with `pricing`, its cost is unknown.
   * Needs `removeJournal`. Default 1.
   */
  readonly keepRuns?: KeepRuns | undefined;
  /** Returns changed options for each run, for example to write each run's log to its own file. Default: the options are not changed. */
  readonly wrapOptions?: ((options: LoopOptions) => LoopOptions) | undefined;
  /**
   * How long a run waits for the conversation's current run to end, in milliseconds. Waiting runs in one process begin in the order in
   * which they were requested. Default 0: the run is refused immediately.
   */
  readonly waitMs?: number | undefined;
  /**
   * How `send` handles a new message while calls from the last run are waiting for decisions or results. "refuse" rejects with LoopError
   * "conversation-refused", which names the calls. "deny" ends the calls: calls waiting for approval are denied, and calls waiting for
   * a result are interrupted. "queue" waits up to `waitMs` until the run has been resumed and has ended. Default "refuse".
   */
  readonly whenSuspended?: WhenSuspended | undefined;
}

/** Options whose `middleware` determines the type of the run's result. `List` is undefined if the options contain no middleware. */
export type Listed<List, Output> = { readonly middleware?: List | MiddlewareList<Output> | undefined };

export type OwnList = readonly [] | readonly unknown[] | undefined;

/**
 * The fields that middleware adds to the result of one run. They come from the run's own middleware, or else from the conversation's
 * (`Fields`).
 */
export type RunFields<List, Fields> = List extends readonly unknown[] ? ResultFields<List> : Fields;

/** New messages from the user: a string, a message, or several messages. */
export type NewMessages = string | UserMessage | readonly UserMessage[];

/** How the last run of a conversation ended, and the messages that are waiting for the next run. */
export interface ConversationStatus {
  readonly runId: string;
  /**
   * "running" until the end of the run is stored. If the run's process was killed, the status stays "running", and `isLive`
   * is false.
   */
  readonly status: "running" | LoopStatus;
  /**
   * True while a process is working on the run. If this is false and the status is "running", the run was cut off: call `resume` or
   * `send`.
   */
  readonly isLive: boolean;
  /** Why the run ended or is suspended. Undefined while the status is "running". */
  readonly reason: EndReason | undefined;
  /** Messages that reached a run too late. The next run begins with these messages. */
  readonly undelivered: readonly UserMessage[];
}

/**
 * A transcript that is kept across runs. While a run is live in any process, methods that begin a run reject with LoopError
 * "conversation-busy". `Output` is the output type of `structuredOutput`, and `T` is the union of the types of the tools. The options of a
 * single run may use other types. `Fields` are the fields that the middleware adds to each result.
 */
export interface Conversation<Output = unknown, T extends Tool = Tool, Fields = unknown> {
  readonly id: string;
  /**
   * Adds messages from the user, and runs the loop. The messages are stored before the run begins. Without `message`, the run answers
   * messages that have no answer yet: undelivered messages, or the messages of a run that was cut off or failed.
   *
   * If the conversation already contains a message with the same `id` and no answer yet, the message is not added again. If that message
   * has an answer, `send` rejects with LoopError "conversation-refused".
   *
   * Rejects like `runToolLoop`, with errors from the store, and with LoopError "conversation-busy". If the run rejects, its messages stay
   * in the conversation. If the run rejects before it has recorded anything, for example because its journal cannot be opened, the
   * conversation stays as it was before `send`.
   *
   * If the store fails at the end of a run, the conversation retries the last write while the store's lease lasts. If that fails too,
   * `send` rejects with the store's error, whose `result` property is the run's result.
   *
   * @example
   * const { text } = await conversation.send("Do I need a coat?");
   */
  send<Own = Output, OwnTool extends Tool = T, List extends OwnList = undefined>(
    message?: NewMessages,
    options?: RunOverrides<Own, OwnTool, T> & Listed<List, Own>,
  ): Promise<LoopResult<Plain<Own>, OwnTool> & RunFields<List, Fields>>;
  /**
   * Like `send`, but returns a stream like `streamToolLoop`. Invalid arguments throw at once. All other errors reject `result`,
   * and a `for await` loop over the stream throws them.
   *
   * @example
   * for await (const event of conversation.stream("And tomorrow?")) if (event.type === "text-delta") write(event.text);
   */
  stream<Own = Output, OwnTool extends Tool = T, List extends OwnList = undefined>(
    message?: NewMessages,
    options?: RunOverrides<Own, OwnTool, T> & Listed<List, Own>,
  ): LoopStream<Plain<Own>, OwnTool, RunFields<List, Fields>>;
  /**
   * Continues the last run if it was suspended, or if its process was killed. Needs the journal of that run. Rejects like `send`,
   * and with "conversation-refused" if there is no such run, or no journal.
   *
   * @example
   * await conversation.resume({ answers: { [call.id]: { kind: "approve" } } });
   */
  resume<Own = Output, OwnTool extends Tool = T, List extends OwnList = undefined>(
    options?: ResumeOverrides<Own, OwnTool, T> & Listed<List, Own>,
  ): Promise<LoopResult<Plain<Own>, OwnTool> & RunFields<List, Fields>>;
  /**
   * Like `resume`, but returns a stream like `stream`. The stream repeats the events of recorded steps, with `replayed: true`.
   */
  resumeStream<Own = Output, OwnTool extends Tool = T, List extends OwnList = undefined>(
    options?: ResumeOverrides<Own, OwnTool, T> & Listed<List, Own>,
  ): LoopStream<Plain<Own>, OwnTool, RunFields<List, Fields>>;
  /**
   * Ends the last run if it is suspended, with the status "stopped-by-user". Calls waiting for approval are denied, and calls waiting for
   * a result are interrupted. Rejects with LoopError "conversation-busy" while a run is live, and with "conversation-refused" if the last
   * run is not suspended.
   */
  cancel(): Promise<void>;
  /**
   * Deletes the conversation from the store, along with its runs' journals in that store. Deletes journals elsewhere only if
   * the `removeJournal` option is set. Resolves to "unknown" if the conversation does not exist. Rejects with LoopError
   * "conversation-busy" while a run is live.
   */
  remove(): Promise<"removed" | "unknown">;
  /** Returns the stored transcript. While a run is live, the transcript ends with the messages that the run began with. */
  messages(): Promise<readonly Message[]>;
  /** Returns how the last run ended, or undefined if there has been no run yet. */
  status(): Promise<ConversationStatus | undefined>;
  /** Returns the usage and the cost of all the conversation's runs, including runs in other processes. */
  usage(): Promise<ConversationUsage>;
  /**
   * Copies the conversation to a new id, and returns the copy. `atMessage` is the number of messages to copy. Default: all. In the copy,
   * calls that are still waiting are ended, and the usage begins at 0.
   *
   * Rejects with LoopError "conversation-refused" if a conversation with the new id exists, or if this conversation does not exist.
   * Rejects with "invalid-option" if `atMessage` is too large, or separates a tool call from its result.
   */
  fork(id: string, options?: ForkOptions): Promise<Conversation<Output, T, Fields>>;
}

/** The options for `fork`. */
export interface ForkOptions {
  /** The number of messages to copy, at least 1. Default: all. */
  readonly atMessage?: number | undefined;
}
