// Types for conversations whose runs any worker can execute and display.

import type { EntryOptions, StopRequest } from "../../core/types/loop-options.ts";
import type { AnyTool } from "../../core/types/tool.ts";
import type { CallDecision, EndReason, Json, LoopOptions, LoopStatus, Message, Tool } from "../../core/index.ts";
import type { PageMessage } from "../../web/read-user-message.ts";
import type { HostedStatus, HostedStream, JoinOptions, StartAnswer, WhenBusy } from "../run-host.ts";
import type { KeepRuns } from "../../conversation/keep-runs.ts";
import type { WhenSuspended } from "../../conversation/waiting-calls.ts";
import type { PendingCall } from "../../journal/inspect/inspect-journal.ts";
import type { DurableOwnOptions, DurableResult } from "./durable-loop.ts";

/** A run's options, as returned by a durable host's `options` function. */
export type DurableRunOptions<Output = unknown, T extends Tool = Tool> = EntryOptions<DurableOwnOptions | "messages", Output, T>;

/** The argument to a durable host's `options` function. */
export interface DurableRunInput<Input = Json> {
  /** The conversation's id. */
  readonly id: string;
  /** The `input` that was passed to `start`. Default null. */
  readonly input: Input;
}

/** The definition of a durable host. `T` is the union of its tools' types. `Input` is the type of the `input` option of `start`. */
export interface DurableHostFields<Output = unknown, T extends Tool = Tool, Input = Json> {
  /** The host's name. Do not change the name while runs are under way, because the records of these runs contain it. */
  readonly name: string;
  /**
   * Returns a run's options, except the messages. Called each time a worker begins to execute the run, and each time a
   * process reads the run's state.
   */
  readonly options: (run: DurableRunInput<Input>) => DurableRunOptions<Output, T> | PromiseLike<DurableRunOptions<Output, T>>;
  /**
   * Returns changed options for each execution of a run, for example to write each run's log to its own file. Default: the options are not
   * changed.
   */
  readonly wrapOptions?: ((options: LoopOptions) => LoopOptions) | undefined;
  /** How `start` responds while a run of the conversation is live. Each call can override this option. Default "refuse". */
  readonly whenBusy?: WhenBusy | undefined;
  /**
   * How a new message is handled while the last run's calls are waiting for decisions or results. Each call to `start` can override this
   * option. Default "refuse".
   */
  readonly whenSuspended?: WhenSuspended | undefined;
  /**
   * How many ended runs are kept in each conversation: a number of runs, or `{ days }`. The last one is always kept. Starting a run removes
   * the stored data of older runs. An older run is kept if it failed or, with `pricing`, its cost is unknown. Default `Infinity`: all are
   * kept, as long as the engine keeps them.
   */
  readonly keepRuns?: KeepRuns | undefined;
  /** How many workers in a row may die during the same step of a run. If one more dies, the run fails. Default 10. */
  readonly maxCrashes?: number | undefined;
}

/** The `input` option of `start`. It is required if the `options` function does not accept null. */
export type DurableStartInput<Input = Json> = null extends Input
  ? {
      /** Data for the `options` function, such as the id of the user. The data is stored with the run. Default null. */
      readonly input?: Input | undefined;
    }
  : {
      /** Data for the `options` function, such as the id of the user. The data is stored with the run. */
      readonly input: Input;
    };

/**
 * The options of `start`. Pass exactly one of `message`, `messages` and `regenerate`. `Input` is the type of the data for the `options`
 * function.
 */
export type DurableStartOptions<Input = Json> = DurableStartInput<Input> & {
  /** How `start` responds while a run of the conversation is live. Default: the host's `whenBusy`. */
  readonly whenBusy?: WhenBusy | undefined;
  /** How `start` responds while tool calls of the last run are waiting. Default: the host's `whenSuspended`. */
  readonly whenSuspended?: WhenSuspended | undefined;
} & (
    | { readonly message: string | PageMessage; readonly messages?: undefined; readonly regenerate?: undefined }
    | { readonly messages: readonly Message[]; readonly message?: undefined; readonly regenerate?: undefined }
    | { readonly regenerate: true; readonly message?: undefined; readonly messages?: undefined }
  );

/** A run of a conversation, in any process. */
export interface DurableHostedRun<Output = unknown, T extends AnyTool = AnyTool> {
  /** The conversation's id, a slash, and the run's number, counted from 1. */
  readonly runId: string;
  /** Waits for the run to end, for days if necessary. */
  result(): Promise<DurableResult<Output, T>>;
  /** Reads this run from its start. If the run was resumed, all events from before the resume are marked as `replayed`. */
  join(options?: DurableJoinOptions): HostedStream<T>;
}

/** The options for joining a run. */
export interface DurableJoinOptions extends JoinOptions {
  /**
   * True to end the stream when the run is only waiting for decisions or results. The last event is then a `run-end` with the status
   * `suspended`, which `useChat` needs. False to keep the stream open, so that a web page sees how the run continues. Default true.
   */
  readonly endsWhenWaiting?: boolean | undefined;
}

/** The answer that `start` returns. */
export type DurableStartAnswer<Output = unknown, T extends AnyTool = AnyTool> =
  /** If `repeated` is true, the conversation already contained the message, and the run is the one that this message started. */
  | ({ readonly kind: "started"; readonly repeated?: true | undefined } & DurableHostedRun<Output, T>)
  | ({ readonly kind: "steered" } & DurableHostedRun<Output, T>)
  | Extract<StartAnswer, { readonly kind: "waiting" | "repeated" | "unknown-message" }>
  /** The start was refused, because the conversation has a live run. An endpoint can answer with 409. */
  | { readonly kind: "busy"; readonly runId: string };

/** The answer that `resume` returns. */
export type DurableResumeAnswer<Output = unknown, T extends AnyTool = AnyTool> =
  | ({ readonly kind: "started" } & DurableHostedRun<Output, T>)
  /** The conversation does not exist, or its last run has ended. Nothing was changed. */
  | { readonly kind: "not-resumable"; readonly status: LoopStatus | undefined };

/**
 * A host for conversations whose runs are runs of a durable loop. In every worker, the methods work like those of a host from
 * `createRunHost`.
 */
export interface DurableHost<Output = unknown, T extends AnyTool = AnyTool, Input = Json> {
  /**
   * Starts a new run of a conversation. If a previous run is waiting for decisions, `whenSuspended` determines what happens. With
   * `whenBusy: "queue"`, the new run starts when the live run has ended. If this process ends while the new run is queued, the new run
   * does not start.
   */
  start(id: string, options: DurableStartOptions<Input>): Promise<DurableStartAnswer<Output, T>>;
  /**
   * Sends decisions, results and other answers to the last run's waiting calls. If one of them is invalid, sends none, and rejects with
   * LoopError "unknown-decision" or "invalid-decision".
   */
  resume(
    id: string,
    options: { readonly answers: { readonly [id: string]: CallDecision | Json } },
  ): Promise<DurableResumeAnswer<Output, T>>;
  /**
   * Reads the run that contains the event with the id `from`, or else the conversation's last run. The stream ends when the
   * run ends. Unless `endsWhenWaiting` is false, the stream also ends when the run is only waiting for decisions. Returns undefined
   * if the conversation does not exist.
   */
  join(id: string, options?: DurableJoinOptions): Promise<HostedStream<T> | undefined>;
  /**
   * If the last run of a conversation failed, continues that run from its records. Call `retry`, for example, after you have
   * deployed corrected code.
   */
  retry(id: string): Promise<DurableResumeAnswer<Output, T>>;
  /** Stops the live run of a conversation. The run may be executed by any worker. */
  stop(id: string, request?: StopRequest): Promise<"accepted" | "not-running">;
  /** Ends the live run of a conversation immediately, with the reason `killed`. */
  kill(id: string): Promise<"accepted" | "not-running">;
  /**
   * Deletes a conversation: the inputs, records, events and results of all its runs. Stop a live run first. Only the number of its runs is
   * kept, so that no run id is ever reused. Returns "unknown" if the conversation does not exist.
   */
  remove(id: string): Promise<"removed" | "unknown" | "busy">;
  /** Returns a conversation's state, or undefined if the conversation does not exist. */
  status(id: string): Promise<DurableHostStatus | undefined>;
}

/**
 * A conversation's state. A run that is waiting for decisions has the status "suspended". A run that failed has the status "error".
 */
export interface DurableHostStatus extends Omit<HostedStatus, "queued" | "reason" | "turns"> {
  readonly reason: EndReason | undefined;
  /** The last run's error if that run failed. `result` of a failed run rejects, and `retry` continues the run. */
  readonly error?: string | undefined;
  /** The calls of the last run that have no outcome yet. */
  readonly pendingCalls: readonly PendingCall[];
  /** The `version` option of the code that began the last run. */
  readonly version: string | undefined;
  /** The `version` option of the code that most recently executed the last run. */
  readonly lastVersion: string | undefined;
}
