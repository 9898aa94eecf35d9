// The interface between the loop and its journals. Everything with an effect is a step, so a replay repeats no effect.

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
   * Locks the journal for one run, and returns a function that unlocks the journal. Implement this method if only one run at a
   * time may use the journal. The loop calls `open` before the first step of a run, but not for nested runs, because a nested run
   * uses the journal of the outer run. The loop calls the returned function after every run, however the run ended, and maybe
   * more than once.
   */
  open?(how?: { readonly readOnly?: boolean | undefined }): PromiseLike<() => PromiseLike<void>>;
  /**
   * Returns true if a step is recorded. Implement this method only in journals that replay their records but never run a step,
   * such as `replayJournal`. After a recorded suspension or ending, a run with such a journal continues only if there are more
   * records.
   */
  replays?(key: string): PromiseLike<boolean> | boolean;
  /**
   * Returns true if a step is recorded. Does not run the step. With this method, a nested run starts no new work if the outcome
   * of its call is recorded, even if the records of the nested run are incomplete.
   */
  has?(key: string): PromiseLike<boolean> | boolean;
  /**
   * Returns all records in the order of recording, as a map from step keys to results. Must not lock or change the journal,
   * because a run may be writing to it. `inspectJournal` needs this method.
   */
  read?(): PromiseLike<ReadonlyMap<string, unknown>> | ReadonlyMap<string, unknown>;
  /**
   * Waits for the decision or result that is sent under `key`. Implement this method only for a workflow engine that can wait for
   * days.
   */
  wait?(key: string): PromiseLike<Json>;
}
