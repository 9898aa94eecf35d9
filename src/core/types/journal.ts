import type { Json } from "./json.ts";

/** The kind of a step. Engines use it to find the body of a step on another machine. */
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

/** One step of a run: a piece of work that has an effect, such as a model request or a tool call. */
export interface Step<T> {
  /** The position of the step, such as `i0/model`; unique in the run. */
  readonly key: string;
  readonly kind: StepKind;
  /** The input of the step. Engines may show it, or use it to find the body. */
  readonly input: Json;
  /**
   * Does the work and returns plain data, which includes expected failures. Pass a signal if the engine that runs the step can
   * cancel it.
   */
  run(call: { readonly signal?: AbortSignal | undefined }): PromiseLike<T> | T;
}

/**
 * Records the results of the steps of a run. A recorded step returns its result immediately, and does not run again. If you call
 * the loop again with the same journal, the run therefore continues.
 */
export interface Journal {
  /** True if the records still exist after the process has ended. */
  readonly durable: boolean;
  /**
   * True if the steps must come in the same order each time the run is executed. Tool calls then run in groups: a group starts when
   * all calls of the previous group have ended, and a nested run is a group of its own. Default false.
   */
  readonly ordered?: boolean | undefined;
  /** Runs one step, or returns its recorded result. Returns a plain value instead of a promise if no wait is needed. */
  step<T>(step: Step<T>): PromiseLike<T> | T;
  /** Runs or replays several steps at the same time. Returns their results in the order of `steps`. */
  all<T>(steps: readonly Step<T>[]): PromiseLike<readonly T[]> | readonly T[];
  /**
   * Locks the journal for one run. Called before the first step. Needed if only one run at a time may use the journal. Returns a
   * function that unlocks the journal. The loop calls this function after every run, in whatever way the run ended, and may call
   * it more than once. `open` is not called for nested runs, because their steps belong to the outer run.
   */
  open?(how?: { readonly readOnly?: boolean | undefined }): PromiseLike<() => PromiseLike<void>>;
  /**
   * Returns true if a step is recorded. Only for journals that never run a step, such as `replayJournal`. After a suspension or
   * an ending, a run with such a journal continues only if there are more records.
   */
  replays?(key: string): PromiseLike<boolean> | boolean;
  /**
   * Returns true if a step is recorded. Does not run the step. If the outcome of a tool call is recorded, a nested run in that
   * call does no new work. This is true even if the records of the nested run are incomplete.
   */
  has?(key: string): PromiseLike<boolean> | boolean;
  /**
   * Returns all records, which map step keys to results, in the order of recording. Must not lock or change the journal, because
   * it can be called while a run writes the journal. Needed by `inspectJournal`.
   */
  read?(): PromiseLike<ReadonlyMap<string, unknown>> | ReadonlyMap<string, unknown>;
  /** Waits for a decision or a result that is sent under `key`. For engines that can wait for days. */
  wait?(key: string): PromiseLike<Json>;
}
