import type { Json } from "./json.ts";

/** The kind of a step, for engines that look up its body on another machine. */
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

/** One effect of a run. Its key comes from its position and is unique in the run. */
export interface Step<T> {
  /** The position of the step, such as `i0/model`; unique in the run. */
  readonly key: string;
  readonly kind: StepKind;
  /** The input of the step, for engines that show it or look up the body. */
  readonly input: Json;
  /** Performs the effect. Expected failures are part of the returned plain data. The signal fires if the engine itself is cancelled. */
  run(call: { readonly signal?: AbortSignal | undefined }): PromiseLike<T> | T;
}

/**
 * Keeps the results of a run's steps. A recorded step returns its result at once and does not run again. Calling the loop again
 * with the same journal therefore continues the run.
 */
export interface Journal {
  /** True if records outlive the process. */
  readonly durable: boolean;
  /**
   * True if steps must come in the same order in each execution. Tool calls then run in waves, and a nested run has a wave to
   * itself. Default false.
   */
  readonly ordered?: boolean | undefined;
  /** Runs one step, or returns its recorded result. Returns the value itself, without a promise, if no wait is needed. */
  step<T>(step: Step<T>): PromiseLike<T> | T;
  /** Runs or recalls several steps at once. Returns their results in the order of `steps`. */
  all<T>(steps: readonly Step<T>[]): PromiseLike<readonly T[]> | readonly T[];
  /**
   * Locks the journal for one run, before its first step, if only one run at a time may use it. Returns a function that unlocks
   * it. The loop calls that function when the run is over, however it ended, and may call it more than once. Not called for runs
   * inside tool calls, whose steps belong to the outer run.
   */
  open?(how?: { readonly readOnly?: boolean | undefined }): PromiseLike<() => PromiseLike<void>>;
  /**
   * Returns true if a step is recorded. Only for journals that never run a body, such as `replayJournal`. The run then goes past
   * a suspension or an ending only if the records do.
   */
  replays?(key: string): PromiseLike<boolean> | boolean;
  /**
   * Returns true if a step is recorded, without running it. Once the outcome of a tool call is recorded, a run inside that call
   * does nothing new, even if its own records are incomplete.
   */
  has?(key: string): PromiseLike<boolean> | boolean;
  /**
   * Returns all records, from key to result, in the order in which they were recorded. It locks and changes nothing, so it can be
   * called while a run writes the journal. Needed by `inspectJournal`.
   */
  read?(): PromiseLike<ReadonlyMap<string, unknown>> | ReadonlyMap<string, unknown>;
  /** Waits for a decision or a result that is sent under `key`, for engines that can wait for days. */
  wait?(key: string): PromiseLike<Json>;
}
