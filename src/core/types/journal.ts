import type { Json } from "./json.ts";

/** The kind of a step, for engines that look for its body on another machine. */
export type StepKind = "run" | "inbox" | "model" | "validation" | "approval" | "intent" | "tool" | "results" | "hook" | "reopen";

/** One effect of a run. Its key comes from its position and is unique in the run. */
export interface Step<T> {
  /** Its place, such as `i0/model`; unique in the run. */
  readonly key: string;
  /** Its kind. */
  readonly kind: StepKind;
  /** Its input, for engines that show it or look the body up. */
  readonly input: Json;
  /** The effect. Expected failures are part of its plain-data answer; the signal fires where the engine itself is cancelled. */
  run(call: { readonly signal?: AbortSignal | undefined }): PromiseLike<T> | T;
}

/**
 * Keeps the results of a run's steps. A step that is recorded answers at once and does not run again, so that the same
 * call over the same journal goes on where it was.
 */
export interface Journal {
  /** Whether records outlive the process. */
  readonly durable: boolean;
  /** True if steps have to come in the same order in each execution: calls then run in waves, and a nested run has one to itself. Default false. */
  readonly ordered?: boolean | undefined;
  /** Runs or recalls one step. Answers the value itself where nothing needs waiting. */
  step<T>(step: Step<T>): PromiseLike<T> | T;
  /** Runs or recalls several steps at once; answers in their order. */
  all<T>(steps: readonly Step<T>[]): PromiseLike<readonly T[]> | readonly T[];
  /**
   * Takes the journal for one run, before its first step, where one run at a time may have it. What it gives is called when that run is
   * over, however it ended; it may be called more than once. Not asked for runs inside calls, whose steps belong to the run around them.
   */
  open?(how?: { readonly readOnly?: boolean | undefined }): PromiseLike<() => PromiseLike<void>>;
  /**
   * There where no body runs any more, as under `replayJournal`: whether a step is recorded. The run then goes on past a suspension or
   * an ending where its records do, and nowhere else.
   */
  replays?(key: string): PromiseLike<boolean> | boolean;
  /**
   * Whether a step is recorded, where a journal can say that without running it. A run inside a call whose outcome is recorded does
   * nothing new then, whatever its own records lack.
   */
  has?(key: string): PromiseLike<boolean> | boolean;
  /**
   * Gives all records, key to answer, in the order in which they were recorded. Takes nothing and changes nothing, so that it can be
   * called while a run writes the journal. Needed by `inspectJournal`.
   */
  read?(): PromiseLike<ReadonlyMap<string, unknown>> | ReadonlyMap<string, unknown>;
  /** Waits for a decision that is sent under `key`, for engines that can wait for days. */
  wait?(key: string): PromiseLike<Json>;
}
