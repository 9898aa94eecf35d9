// Declares what durable loops need from a workflow engine. An execution is one worker's attempt at a run: if the worker dies, another
// execution continues it.

import type { Json, UserMessage } from "../../core/index.ts";

/** A request to a run. Any process can send it. */
export type RunMessage =
  | { readonly verb: "steer"; readonly message: UserMessage }
  | { readonly verb: "stop"; readonly request?: unknown }
  | { readonly verb: "kill" }
  /** The answer to a waiting call or middleware, or to a question that is waiting in the run's own process. */
  | { readonly verb: "answer"; readonly id: string; readonly answer: Json };

/** A row with its position. Positions increase, and those of messages may have gaps. */
export interface Row<T> {
  readonly seq: number;
  readonly body: T;
}

export interface StepRecord {
  readonly key: string;
  /** The JSON text of the result. */
  readonly body: string;
  /** The position of the last message that the run has read. Set only when the outermost run has checked for messages. */
  readonly lastRead?: number | undefined;
}

export interface Begun {
  /** Increases with each execution of the run. */
  readonly execution: number;
  /** The number of events that are stored. */
  readonly events: number;
  /** How many executions have begun since the run most recently made progress. The first execution of a run does not count. */
  readonly stalls: number;
  /** The run's input, as JSON. Undefined if the engine passes it to the execution. */
  readonly input?: string | undefined;
}

export interface Added {
  /** The first event's position. */
  readonly first: number;
  readonly events: readonly string[];
  readonly blobs: ReadonlyMap<string, string>;
  /** True if the events show progress. The store then sets the run's `stalls` to 0. */
  readonly isProgress: boolean;
  readonly records: readonly StepRecord[];
}

/** Thrown by `begin` if the engine has given the run to another execution. */
export class NotOwner extends Error {}

/** The events of runs, and the messages to runs. Every process can read and write them. */
export interface DurableStore {
  /** True if a request that failed with this error may succeed later, for example after a server restart. */
  mayRepeat(error: unknown): boolean;
  /**
   * Begins an execution of a run. Earlier executions can no longer append events. `claim` increases with each execution in this
   * process, so repeating the call is harmless. Rejects with NotOwner if another process, or a newer execution in this
   * process, owns the run.
   */
  begin(runId: string, claim: number): Promise<Begun>;
  /**
   * Stores large strings under their ids, and appends events and records. Returns false if a newer execution of the run has begun. In
   * this case, everything is dropped. Callers may repeat the call after an error.
   */
  append(runId: string, execution: number, added: Added): Promise<boolean>;
  /** Returns the records of a run in the order in which they were written. A record may occur twice. */
  readRecords(runId: string): Promise<readonly StepRecord[]>;
  /** Returns the large strings with these ids, or all of the run's large strings. */
  readBlobs(runId: string, ids?: readonly string[]): Promise<ReadonlyMap<string, string>>;
  countEvents(runId: string): Promise<number>;
  /** Returns events, starting at the `from` position. May return only some of them. */
  readEvents(runId: string, from: number): Promise<readonly Row<string>[]>;
  /** Sends all messages or, if the call rejects, none. */
  send(runId: string, ...messages: readonly RunMessage[]): Promise<void>;
  /** Returns the messages after the position `after`. */
  readMessages(runId: string, after: number): Promise<readonly Row<RunMessage>[]>;
  /** Wakes the readers of a run in all processes. May do nothing if readers poll the store. */
  wake(runId: string): Promise<void>;
  /** Sets the count of executions without progress to 0. */
  resetStalls(runId: string): Promise<void>;
  /** Returns the number that `noteRuns` has stored for a conversation, or 0. */
  readRuns(conversation: string): Promise<number>;
  /** Stores the number of runs of a conversation, unless the stored number is already higher. */
  noteRuns(conversation: string, runs: number): Promise<void>;
}

export type FoundRun =
  | { readonly state: "live"; readonly error?: undefined }
  /** `readEnd` returns the value that `executeDurableRun` returned, or undefined if the run has been deleted since. */
  | { readonly state: "ended"; readonly error?: undefined; readEnd(): Promise<string | undefined> }
  /** The run rejected. `error` is the error's message, and `cause` may be the error itself. */
  | { readonly state: "failed"; readonly error: string; readonly cause?: unknown };

/** A durable loop's workflow engine, as provided by this process's worker. */
export interface DurableEngine {
  readonly store: DurableStore;
  /** How long a loop's or host's method waits for the engine to answer, in milliseconds. */
  readonly answerMs: number;
  /** Starts a run. Returns false if a run with this id already exists. */
  start(id: string, input: string): Promise<boolean>;
  /** Finds a run. Returns undefined if the loop has no run with this id. */
  find(id: string): Promise<FoundRun | undefined>;
  readInput(id: string): Promise<string | undefined>;
  /** Calls `look` now, and again whenever the run may have ended. Resolves to the first value that `look` returns. */
  waitForEnd<T>(id: string, look: () => Promise<T | undefined>, signal?: AbortSignal): Promise<T>;
  /** Continues a failed run after its last record. Returns false if the run has not failed. */
  retry(id: string): Promise<boolean>;
  /** Deletes all data about runs that have ended or failed. Live runs, and ids without a run, are left alone. */
  remove(ids: readonly string[]): Promise<void>;
  /**
   * Calls `look` now, and again whenever the run may have changed. Resolves to the first value that `look` returns. Rejects when
   * the signal fires.
   */
  waitFor<T>(id: string, look: () => Promise<T | undefined>, signal?: AbortSignal): Promise<T>;
}

/** A run that this process is executing. */
export interface LiveRun {
  /** Carries out the stops, kills and answers that were sent to the run. Repeating the call does no harm. */
  obey(): Promise<void>;
  /** Ends this execution, which then records nothing more. Another execution can continue the run. */
  abandon(): void;
  readonly ended: Promise<void>;
}
