import type { Json } from "./common.ts";

/** The kind of a step. Workflow engines use the kind to find the code of the step on another machine. */
export type StepKind =
  | "run"
  | "inbox"
  | "model"
  | "validation"
  | "approval"
  | "intent"
  | "tool"
  | "result"
  | "results"
  | "hook"
  | "reopen";

/** One step of a run: a piece of work with an effect, such as a model request or a tool call. */
export interface Step<T> {
  /** The position of the step, such as `i0/model`. Unique in the run. */
  readonly key: string;
  readonly kind: StepKind;
  /** The input of the step, which workflow engines may show or use to find the code of the step. */
  readonly input: Json;
  /**
   * Does the work and returns plain data. Expected failures are returned too, not thrown. A workflow engine that can cancel the
   * step passes `signal`.
   */
  run(call: { readonly signal?: AbortSignal | undefined }): PromiseLike<T> | T;
}

/**
 * Records the results of a run's steps. A recorded step returns its result immediately, without running again. A second call of
 * the loop with the same journal therefore continues the run.
 */
export interface Journal {
  /** True if the records remain after the process has ended. */
  readonly durable: boolean;
  /**
   * True if the steps must have the same order in each execution of the run. Tool calls then run in groups. A group starts when
   * all calls of the previous group have ended, and each nested run is a group of its own. Default false.
   */
  readonly ordered?: boolean | undefined;
  /** Runs one step, or returns its recorded result. May return a plain value instead of a promise. */
  step<T>(step: Step<T>): PromiseLike<T> | T;
  /** Runs or replays several steps at the same time. Returns their results in the order of `steps`. */
  all<T>(steps: readonly Step<T>[]): PromiseLike<readonly T[]> | readonly T[];
  /**
   * Locks the journal for one run. Needed if only one run at a time may use the journal. Called before the first step. Returns a
   * function that unlocks the journal. The loop calls this function after every run, however the run ended, and maybe more than
   * once. `open` is not called for nested runs, because they use the journal of the outer run.
   */
  open?(how?: { readonly readOnly?: boolean | undefined }): PromiseLike<() => PromiseLike<void>>;
  /**
   * Returns true if a step is recorded. Only for journals that replay their records but never run a step, such as
   * `replayJournal`. After a recorded suspension or ending, a run with such a journal continues only if there are more records.
   */
  replays?(key: string): PromiseLike<boolean> | boolean;
  /**
   * Returns true if a step is recorded. Does not run the step. If the outcome of a tool call is recorded, the nested run in that
   * call starts no new work, even if the records of the nested run are incomplete.
   */
  has?(key: string): PromiseLike<boolean> | boolean;
  /**
   * Returns all records in the order of recording, as a map from step keys to results. Must not lock or change the journal,
   * because a run may be writing to it. Needed by `inspectJournal`.
   */
  read?(): PromiseLike<ReadonlyMap<string, unknown>> | ReadonlyMap<string, unknown>;
  /** Waits for the decision or result that is sent under `key`. For workflow engines that can wait for days. */
  wait?(key: string): PromiseLike<Json>;
}
