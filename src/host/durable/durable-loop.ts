// Types for loops whose runs any worker can execute, stop and display, on any workflow engine.

import type { AnyTool } from "../../core/types/tool.ts";
import type { EntryOptions, StopRequest } from "../../core/types/loop-options.ts";
import type { CallDecision, Json, LoopEvent, LoopOptions, LoopResult, Tool, UserMessage } from "../../core/index.ts";
import type { JournalInspection } from "../../journal/index.ts";

/** The options that the durable loop sets itself. */
export type DurableOwnOptions = "runId" | "journal" | "events" | "control" | "answers" | "resume";

/** A run's options, as returned by a durable loop's `options` function. */
export type DurableLoopOptions<Output = unknown, T extends Tool = Tool> = EntryOptions<DurableOwnOptions, Output, T>;

/** The definition of a durable loop. `T` is the union of its tools' types. */
export interface DurableLoopFields<Input, Output = unknown, T extends Tool = Tool> {
  /** The loop's name. Do not change the name while runs are under way, because the records of these runs contain it. */
  readonly name: string;
  /**
   * Returns a run's options. Called each time a worker begins to execute the run, and each time the status of the run is
   * read. Must return the same messages for the same input.
   */
  readonly options: (input: Input) => DurableLoopOptions<Output, T> | PromiseLike<DurableLoopOptions<Output, T>>;
  /**
   * Returns changed options for each execution of a run, for example to write each run's log to its own file. The given options include
   * those that the durable loop sets, such as `runId` and `events`. Default: the options are not changed.
   */
  readonly wrapOptions?: ((options: LoopOptions) => LoopOptions) | undefined;
  /**
   * How many workers in a row may die during the same step of a run. If one more dies, `result` rejects. Without this limit, a run that
   * crashes its process would crash one worker after another. Default 10.
   */
  readonly maxCrashes?: number | undefined;
}

/** The result of a durable run, as JSON data: the result of `runToolLoop` without its journal. */
export type DurableResult<Output = unknown, T extends AnyTool = AnyTool> = Omit<LoopResult<Output, T>, "journal">;

/** An event of a run, with its position in the run. */
export interface DurableEvent<T extends AnyTool = AnyTool> {
  /** The position, counted from 0. To continue reading after this event, pass `seq + 1` as `from`. */
  readonly seq: number;
  readonly event: LoopEvent<T>;
}

/** The options for reading the events of a durable run. */
export interface DurableEventsOptions {
  /** The position of the first event to read. Default 0. */
  readonly from?: number | undefined;
  /** When this signal aborts, the stream of events ends without an error. */
  readonly signal?: AbortSignal | undefined;
  /**
   * True to also end the stream when the run is only waiting for decisions or results. The last event is then a `run-end` with the status
   * `suspended`, as in a run without a durable loop. This `run-end` is not stored, and has the `seq` of the preceding event. To read the
   * events after the decision, call `events` again. Default false.
   */
  readonly endsWhenWaiting?: boolean | undefined;
}

/**
 * A loop whose runs any worker can execute. All methods work in every worker, even inside a tool. If no run of this loop has the
 * id, all methods except `start` and `status` reject with LoopError "invalid-option".
 */
export interface DurableLoop<Input, Output = unknown, T extends AnyTool = AnyTool> {
  /**
   * Starts a run with the run id `id`. The id must be unique among all loops, and have at most 512 characters. If a run with this id
   * exists, changes nothing and returns "exists".
   */
  start(id: string, input: Input): Promise<"started" | "exists">;
  /** Waits for a run to end. Rejects if `runToolLoop` has rejected, for example because an option is invalid. */
  result(id: string): Promise<DurableResult<Output, T>>;
  /**
   * Continues a run whose `result` rejected, for example after you have deployed corrected code. The run continues from its
   * records.
   */
  retry(id: string): Promise<void>;
  /** Returns a run's state. Undefined if no run of this loop has the id. */
  status(id: string): Promise<JournalInspection | undefined>;
  /** Ends a run with the reason `stopped`: the model is cut off, and running tools get `timeouts.toolCleanupMs` to clean up. */
  stop(id: string, request?: StopRequest): Promise<"accepted" | "finished">;
  /** Ends a run immediately, with the reason `killed`. */
  kill(id: string): Promise<"accepted" | "finished">;
  /**
   * Adds a message before a run's next iteration. If the run ends without another iteration, the result's `undelivered` contains the
   * message.
   */
  steer(id: string, message: string | UserMessage): Promise<"accepted" | "finished">;
  /**
   * Sends a decision, a result or another answer to a waiting call. `callId` is the `id` of a call in the status's `pendingCalls` or
   * `reason.calls`. Rejects with LoopError "unknown-decision" if the call is not waiting, or "invalid-decision" if the decision is not
   * valid for it. If `callId` is the `id` of a `question-asked` event, sends the answer to the run's process, which drops it if the
   * question is no longer open.
   */
  decide(id: string, callId: string, decision: CallDecision | Json): Promise<void>;
  /**
   * Yields the events of a run, in order and without gaps. Returns after `run-end`. Throws the error of a run whose `result`
   * rejects. If a worker died while a model was streaming, `attempt-discarded` says that new deltas replace the deltas since the
   * last `iteration-start`.
   */
  events(id: string, options?: DurableEventsOptions): AsyncIterableIterator<DurableEvent<T>>;
}
