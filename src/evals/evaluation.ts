// Defines the parts of an evaluation that users write: the cases, how to run a case, and how to check its result.

import type { Clock, Json, LoopOptions } from "../core/index.ts";
import { quote } from "../shared/texts.ts";
import type { Spent } from "./spent.ts";
import { checkFields, type Checks as FieldChecks, invalidOption, is, isRecord, needed } from "../core/kit.ts";

/** A case of an evaluation. Other fields, such as the input and the expected answer, are up to you. */
export interface EvalCase {
  /** The case's name, which must be unique in its evaluation. Also used to find kept trials. */
  readonly id: string;
}

/**
 * One check of a trial. A boolean is a hard check: `false` fails the trial. A number from 0 to 1 is a score, which is reported but does not
 * fail the trial. With `min`, a lower score does fail the trial.
 */
export type EvalCheck =
  | boolean
  | number
  | { readonly pass: boolean; readonly reason?: string | undefined }
  | { readonly score: number; readonly reason?: string | undefined; readonly min?: number | undefined };

/** The result of `check`: one hard check, checks by name, or nothing if `check` reports problems by throwing, as `assert` does. */
export type EvalChecks = void | undefined | boolean | { readonly [name: string]: EvalCheck };

/** One run of one case. */
export interface Trial<World = unknown, Case extends EvalCase = EvalCase> {
  /**
   * An id such as "refund/2": the case, and the trial's number, counted from 1. Each trial has a different id, so it is a good name for
   * a run.
   */
  readonly id: string;
  /** The trial's number within its case, counted from 1. */
  readonly number: number;
  readonly case: Case;
  /** The value that `setup` returned. */
  readonly world: World;
  /** Aborted if the trial takes too long or the evaluation is stopped. `options` passes it to the run. */
  readonly signal: AbortSignal;
  /** True if a kept trial's recording replaces the model. */
  readonly isReplay: boolean;
  /** The evaluation's `model` option. `run` decides how to use it. */
  readonly model: string | undefined;
  /**
   * Adds what the evaluation needs to a run's options: the journal, the log, the recording, the signal and a `runId`. Does not change
   * options that are already set. Use it for each run of the trial. It can be passed as the `wrapOptions` option of a conversation or host.
   */
  readonly options: <const Options extends Pick<LoopOptions, "provider" | "middleware" | "journal" | "runId" | "signal">>(
    options: Options,
  ) => Options;
}

/** The limits of a whole evaluation. When one is reached, no more trials begin, and running trials are stopped and not counted. */
export interface EvalLimits {
  /**
   * The maximum cost in USD, as computed by the runs' `pricing` option. If an answer has no price, the evaluation ends. A request that
   * failed or was stopped counts as much as the most expensive one so far. Requests in progress when this cost is reached are stopped, and
   * may push the total above it.
   */
  readonly maxCostUSD?: number | undefined;
  /** The maximum number of input and output tokens. */
  readonly maxTokens?: number | undefined;
  /** The maximum duration, in milliseconds. */
  readonly maxDurationMs?: number | undefined;
  /** The maximum duration of one trial with its setup and checks, in milliseconds. A longer trial counts as an error. Default 600,000. */
  readonly trialMs?: number | undefined;
  /** How long a stopped trial may take to end, in milliseconds. With 0, the evaluation does not wait. Default 5,000. */
  readonly cleanupMs?: number | undefined;
  /** The number of trials that run at the same time. Default 4. */
  readonly concurrency?: number | undefined;
}

/** How `evaluate` runs an evaluation. */
export interface EvalOptions {
  /** The number of trials per case. With `stopEarly`, the maximum number. Default 1. */
  readonly trials?: number | undefined;
  /** The share of trials that must pass for a case to pass, above 0 and at most 1. Default 1. */
  readonly passRate?: number | undefined;
  /**
   * True to stop a case's trials when it is at least 99.7% certain whether the case will pass. Or pass a different certainty, from 0.5 to
   * 1. Default false.
   */
  readonly stopEarly?: boolean | number | undefined;
  readonly limits?: EvalLimits | undefined;
  /**
   * The folder for the trials' files: journals, logs, recordings and the report. Default ".turnwright/evals". With `false`, nothing is
   * written.
   */
  readonly directory?: string | false | undefined;
  /** Which trials' files to keep after the evaluation. Default "failed": those of trials that failed or had an error. */
  readonly keep?: "failed" | "all" | undefined;
  /** The ids of the cases to run. Default: all. */
  readonly only?: readonly string[] | undefined;
  /** The name of a model, which `run` receives as `trial.model`. */
  readonly model?: string | undefined;
  /**
   * Replays kept trials: their recordings replace the model at no cost, while tools and checks run in a fresh environment. With `true`,
   * replays the trials that the last evaluation kept.
   */
  readonly replay?: true | EvalReplay | undefined;
  /**
   * Set to true to continue an evaluation that was stopped or killed, or that had fewer trials than this one. Trials that passed or failed
   * are counted, including their cost, and do not run again. If a case or `model` has changed, its trials run again. Cannot be combined
   * with `replay` or `directory: false`. Default false.
   */
  readonly resume?: boolean | undefined;
  /** Aborting this signal stops the evaluation. The report contains the trials that had finished by then. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each trial. */
  readonly onTrial?: ((trial: TrialReport, progress: EvalProgress) => void) | undefined;
  /** The clock to use. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** Which kept trials to replay, and how. */
export interface EvalReplay {
  /** A folder with kept trials. Default: the evaluation's own folder. */
  readonly directory?: string | undefined;
  /** The ids of the trials, such as "refund/2". Default: all that were kept. */
  readonly trials?: readonly string[] | undefined;
  /**
   * The first iteration whose requests go to the run's own model, for example to try a different prompt. Counted from 0 in the outermost
   * run. Default: all iterations are replayed.
   */
  readonly from?: number | undefined;
  /**
   * "request" replays a recording only for an identical request. "order" replays recordings in their original order, even if prompts or
   * tools have changed. Default "request", or "order" with `from`.
   */
  readonly match?: "request" | "order" | undefined;
}

/** The progress of an evaluation. */
export interface EvalProgress {
  readonly ended: number;
  /** The number of trials that may still run. With `stopEarly`, fewer may be enough. */
  readonly total: number;
  readonly costUSD: number | undefined;
}

/**
 * An evaluation: cases, how to run one, and how to check the result. `Result` is what `run` returns: the result of a run, a stream, or any
 * value. If it has a `result` promise, as a stream does, the checks receive the promise's value.
 */
export interface Evaluation<Case extends EvalCase = EvalCase, Result = unknown, World = unknown> extends EvalOptions {
  /** Names the evaluation in reports and folders. */
  readonly name: string;
  readonly cases: readonly Case[] | (() => readonly Case[] | PromiseLike<readonly Case[]>);
  /** Sets up a fresh environment (`World`) for a trial, such as a database. Default: none. */
  setup?(item: Case): World | PromiseLike<World>;
  run(item: Case, trial: Trial<World, Case>): Result | PromiseLike<Result>;
  check(result: Ended<Result>, world: World, trial: Trial<World, Case>): EvalChecks | PromiseLike<EvalChecks>;
  /**
   * True to also check a trial whose last run received no answer from the service, for example because a script simulates an outage.
   * Default false: such a trial is an error, because it says nothing about the agent.
   */
  readonly checkOutages?: boolean | undefined;
  /** Cleans up the environment. Called after each trial that has one, even after an error. */
  teardown?(world: World): void | PromiseLike<void>;
}

/** The value that the checks receive: the value of the `result` promise if there is one, as in a stream, otherwise the returned value. */
export type Ended<Result> = Awaited<Result> extends { readonly result: PromiseLike<infer Value> } ? Value : Awaited<Result>;

/** A check's result in a report. */
export interface CheckReport {
  readonly name: string;
  /** False if the check fails the trial. A score without `min` is never false. */
  readonly pass: boolean;
  readonly score?: number | undefined;
  /** The score below which the check fails the trial. */
  readonly min?: number | undefined;
  readonly reason?: string | undefined;
}

/** A trial's entry in a report. */
export interface TrialReport extends Spent {
  readonly id: string;
  readonly case: string;
  readonly number: number;
  /**
   * "passed" or "failed" according to the hard checks. "error" if the trial could not be judged: `setup`, `run` or `teardown` threw, the
   * trial took too long, or its last run ended because the service gave no answer. A trial with an error does not count toward rates, but
   * keeps the evaluation from passing.
   */
  readonly status: "passed" | "failed" | "error";
  /** The trial's checks. Empty if the trial has an error. */
  readonly checks: readonly CheckReport[];
  /** The error of a trial with the status "error". */
  readonly error?: string | undefined;
  /** True if the trial took longer than `limits.trialMs`. */
  readonly isTimedOut?: boolean | undefined;
  /** The user's first message, and the result's text, shortened and without credentials. Absent if the trial passed. */
  readonly question?: string | undefined;
  readonly answer?: string | undefined;
  /** How each outermost run ended: its `reason.kind`. */
  readonly endings: readonly string[];
  /** When the trial began, as an ISO date. */
  readonly startedAt: string;
  readonly durationMs: number;
  /** The trial's folder. Undefined if its files were not kept. */
  readonly directory?: string | undefined;
  /** The path of the HTML page that shows the trial's runs. Undefined if the files were not kept or there was no run. */
  readonly page?: string | undefined;
}

/** The trials of one case, with their statistics. */
export interface CaseReport {
  readonly id: string;
  /** The case as JSON data. */
  readonly case: Json;
  readonly status: "passed" | "failed" | "error" | "undecided";
  /** True if some trials passed and others failed. */
  readonly isFlaky: boolean;
  readonly passed: number;
  readonly failed: number;
  readonly errors: number;
  /** The 95% Wilson interval for the pass rate. */
  readonly interval: readonly [low: number, high: number];
  readonly trials: readonly TrialReport[];
}

/** The result of an evaluation, as JSON data. */
export interface EvalReport {
  readonly format: "turnwright-evals";
  readonly version: 1;
  readonly name: string;
  /** True if all trials could run and each case passed. */
  readonly ok: boolean;
  /** "complete", or why the evaluation ended early. */
  readonly ended: "complete" | "max-cost" | "cost-unknown" | "max-tokens" | "max-duration" | "stopped";
  readonly startedAt: string;
  readonly durationMs: number;
  readonly trials: number;
  readonly passRate: number;
  /** The number of trials that had finished before this evaluation was resumed. 0 without `resume`. */
  readonly resumed: number;
  /** Reasons to doubt the result, such as cases that no check can fail. */
  readonly warnings: readonly string[];
  readonly cases: readonly CaseReport[];
  readonly totals: EvalTotals;
}

/** Totals for all cases. Rates are from 0 to 1. */
export interface EvalTotals extends Spent {
  readonly cases: number;
  readonly passedCases: number;
  readonly trials: number;
  readonly passed: number;
  readonly failed: number;
  readonly errors: number;
  /**
   * The 95% Wilson interval for the share of passed trials. The true interval may be wider, because trials of one case resemble each other.
   */
  readonly interval: readonly [low: number, high: number];
  /**
   * The mean of pass@k and pass^k over the cases with a verdict, for each `k` up to the smallest number of judged trials in any of these
   * cases.
   */
  readonly passAt: readonly { readonly k: number; readonly any: number; readonly all: number }[];
  readonly flaky: readonly string[];
  /** The mean of each score, by name. */
  readonly scores: { readonly [name: string]: number };
}

const positive = { min: 1 } as const;

const share = (value: unknown): boolean => typeof value === "number" && value > 0 && value <= 1;

const limitChecks: FieldChecks<EvalLimits> = {
  maxCostUSD: { min: 0, fraction: true },
  maxTokens: positive,
  maxDurationMs: positive,
  trialMs: positive,
  cleanupMs: { min: 0 },
  concurrency: { ...positive, max: 1_000, infinite: false },
};

const replayChecks: FieldChecks<EvalReplay> = {
  directory: is.name,
  trials: is.texts,
  from: { min: 0, infinite: false },
  match: ["request", "order"],
};

const isReplay = (value: unknown): boolean => {
  if (value !== true) checkFields("replay", value, replayChecks);
  return true;
};

export const optionChecks: FieldChecks<EvalOptions> = {
  trials: { ...positive, max: 100_000, infinite: false },
  passRate: ["a share above 0 and at most 1", share],
  stopEarly: [
    "true, false, or a certainty from 0.5 to 1",
    (value) => typeof value === "boolean" || (share(value) && Number(value) >= 0.5),
  ],
  limits: limitChecks,
  directory: ["the path to a folder, or false", (value) => value === false || (typeof value === "string" && value !== "")],
  keep: ["failed", "all"],
  only: is.texts,
  model: is.name,
  replay: ["true, or an object", isReplay],
  resume: is.flag,
  signal: ["an AbortSignal", (value) => value instanceof AbortSignal],
  onTrial: is.fn,
  clock: is.object,
};

const evaluationChecks: FieldChecks<Evaluation> = {
  ...optionChecks,
  name: needed(is.name),
  cases: needed([
    "an array of cases, or a function that returns one",
    (value) => Array.isArray(value) || typeof value === "function",
  ]),
  setup: is.fn,
  run: needed(is.fn),
  check: needed(is.fn),
  checkOutages: is.flag,
  teardown: is.fn,
};

/**
 * Checks an evaluation and returns it, with its types inferred. Export it from a file such as support.eval.ts, and run it with
 * `npx turnwright eval`, or in a test with `evaluate`.
 *
 * Throws LoopError "invalid-option" or "unknown-option".
 *
 * @example
 * export const support = defineEvaluation({
 *   name: "support",
 *   cases: [{ id: "refund", text: "I want my money back." }],
 *   setup: () => ({ refunds: [] }),
 *   run: ({ text }, trial) => runToolLoop(trial.options({ ...agent(trial.world), messages: [{ role: "user", content: text }] })),
 *   check: (result, world) => ({ refunded: world.refunds.length === 1, short: result.text.length < 300 }),
 * });
 */
export function defineEvaluation<Case extends EvalCase, Result, World = undefined>(
  evaluation: Evaluation<Case, Result, World>,
): Evaluation<Case, Result, World> {
  checkFields("evaluation", evaluation, evaluationChecks);
  return evaluation;
}

/** Returns the cases. Throws LoopError "invalid-option" if a case has no id, or has the same id as another case. */
export async function casesOf<Case extends EvalCase>({
  name,
  cases,
}: Pick<Evaluation<Case>, "name" | "cases">): Promise<readonly Case[]> {
  const list: unknown = typeof cases === "function" ? await cases() : cases;
  const wanted = (expected: string): string => `${expected} (evaluation ${quote(name)})`;
  if (!Array.isArray(list) || list.length === 0) throw invalidOption("cases", wanted("a non-empty array of cases"), list);
  const ids = new Set<string>();
  for (const [index, item] of list.entries()) {
    const id = isRecord(item) ? item["id"] : undefined;
    const problem = typeof id !== "string" || id === "" ? "a non-empty string" : "an id that no other case uses";
    if (typeof id !== "string" || id === "" || ids.has(id)) throw invalidOption(`cases[${index}].id`, wanted(problem), id);
    ids.add(id);
  }
  return list as readonly Case[];
}
