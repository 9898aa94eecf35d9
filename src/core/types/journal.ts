// Declares the interface between the loop and its journals. Every effect is a journal step, so that a replay does not repeat it.

/**
 * Records the results of a run's steps. A recorded step returns its result without running again. Calling the loop again with
 * the same journal therefore continues the run.
 */
export interface Journal {
  /** True if the records outlive the process. The run then needs the `runId` option. Default false. */
  readonly durable?: boolean | undefined;
  /** True if the journal only replays its records. A run that was recorded as ended or suspended then ends at that point. Default false. */
  readonly readOnly?: boolean | undefined;
  /**
   * True for a workflow engine's journal, which repeats a write until it succeeds or another execution begins. Even a stopped run then
   * waits up to `timeouts.journalMs` for a write to finish. Default false.
   */
  readonly engine?: boolean | undefined;
  /**
   * Runs `body` once and records its result under `key`, which must be unique in the run. Later calls return the recorded result. The
   * result is an object of plain data. If `body` fails, `step` fails with the same error and records nothing.
   *
   * Several steps may be open at the same time. May return a plain value instead of a promise.
   */
  step<T>(key: string, body: () => T | PromiseLike<T>): T | PromiseLike<T>;
  /** Returns a recorded result, or a promise for it. Returns undefined if there is no record. Records nothing. */
  read(key: string): unknown;
  /**
   * Returns the keys of all records. Used only by `inspectJournal` and by web pages that show journals. Without `keys`, they cannot find
   * nested runs that were given a name.
   */
  keys?(): readonly string[] | PromiseLike<readonly string[]>;
  /**
   * Locks the journal for one run, and returns a function that unlocks the journal. Implement this method if only one run at a time may use
   * the journal. The loop calls `open` before it reads or records anything, but not for nested runs, because a nested run uses the outer
   * run's journal. The loop calls the returned function after every run, however the run ended, and sometimes more than once. With
   * `readOnly`, the journal is only read, so it needs no lock.
   */
  open?(how?: { readonly readOnly?: boolean | undefined }): PromiseLike<() => PromiseLike<void>>;
}
