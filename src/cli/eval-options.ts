// Reads the options of `turnwright eval`.

import type { EvalOptions } from "../evals/evaluation.ts";
import type { TestRunner } from "../evals/save-trial.ts";
import { parseArguments, toIteration, wrongUsage } from "./cli-io.ts";

const options = {
  trials: { type: "string" },
  case: { type: "string", multiple: true },
  "pass-rate": { type: "string" },
  "stop-early": { type: "string" },
  "max-cost": { type: "string" },
  concurrency: { type: "string" },
  model: { type: "string" },
  keep: { type: "string" },
  directory: { type: "string" },
  resume: { type: "boolean" },
  replay: { type: "boolean" },
  trial: { type: "string", multiple: true },
  from: { type: "string" },
  "save-test": { type: "string" },
  runner: { type: "string" },
  against: { type: "string" },
  "max-drop": { type: "string" },
  "save-baseline": { type: "string" },
  markdown: { type: "string" },
  junit: { type: "string" },
  html: { type: "string" },
} as const;

export interface EvalSettings {
  readonly files: readonly string[];
  /** The options that are the same for all evaluations. */
  readonly shared: EvalOptions;
  readonly directory: string | undefined;
  /** The maximum total cost of all evaluations. */
  readonly maxCostUSD: number | undefined;
  readonly cases: readonly string[] | undefined;
  /** The trials to replay, and the iteration from which the model is called again. Undefined for new trials. */
  readonly replay: { readonly trials: readonly string[] | undefined; readonly from: number | undefined } | undefined;
  /** The folder for tests that replay kept trials. If it is set, no evaluation runs. */
  readonly saveTest: string | undefined;
  /** The test runner for the tests in `saveTest`. Default: the project's own. */
  readonly runner: TestRunner | undefined;
  readonly against: string | undefined;
  readonly maxDrop: number | undefined;
  readonly baseline: string | undefined;
  readonly markdown: string | undefined;
  readonly junit: string | undefined;
  readonly html: string | undefined;
  /** The arguments that must be the same when the other commit is evaluated. */
  readonly repeated: readonly string[];
}

type EvalValues = ReturnType<typeof parseArguments<typeof options>>["values"];

export function readEvalSettings(args: readonly string[]): EvalSettings {
  // Adds `=true` to a `--stop-early` without a number, because the parser would otherwise take the next argument, a file, as its value.
  const full = args.map((arg, at) => (arg === "--stop-early" && !/^[\d.]+$/.test(args[at + 1] ?? "") ? `${arg}=true` : arg));
  const { values, positionals } = parseArguments(full, options);
  const { markdown, junit, html, against, directory } = values;
  if (values["max-drop"] !== undefined && against === undefined) throw wrongUsage("--max-drop needs --against.");
  return {
    files: positionals,
    shared: readShared(values),
    directory,
    maxCostUSD: readNumber("max-cost", values["max-cost"], isAmount),
    cases: values.case,
    replay: readReplay(values),
    saveTest: values["save-test"],
    runner: readRunner(values),
    against,
    maxDrop: readNumber("max-drop", values["max-drop"], isShare),
    baseline: values["save-baseline"],
    markdown,
    junit,
    html,
    repeated: repeatArguments(values),
  };
}

function readShared(values: EvalValues): EvalOptions {
  const shared = {
    trials: readNumber("trials", values.trials, isCount),
    passRate: readNumber("pass-rate", values["pass-rate"], isRate),
    keep: readKeep(values),
    model: values.model,
    stopEarly: values["stop-early"] === "true" ? true : readNumber("stop-early", values["stop-early"], isCertainty),
    resume: values.resume,
  };
  const concurrency = readNumber("concurrency", values.concurrency, isCount);
  return { ...omitUndefined(shared), limits: omitUndefined({ concurrency }) };
}

function readKeep({ keep, against }: EvalValues): EvalOptions["keep"] {
  // Keeps all logs for a comparison, because they show where a case began to differ.
  if (keep === undefined) return against === undefined ? undefined : "all";
  if (keep !== "all" && keep !== "failed") throw wrongUsage(`--keep is "${keep}", but must be all or failed.`);
  return keep;
}

function readRunner({ runner, ...values }: EvalValues): TestRunner | undefined {
  if (runner === undefined || runner === "vitest" || runner === "node:test") {
    if (runner === undefined || values["save-test"] !== undefined) return runner;
    throw wrongUsage("--runner needs --save-test.");
  }
  throw wrongUsage(`--runner is "${runner}", but must be vitest or node:test.`);
}

function readReplay({ replay = false, trial, from, ...values }: EvalValues): EvalSettings["replay"] {
  const iteration = from === undefined ? undefined : toIteration(from);
  if (from !== undefined && iteration === undefined)
    throw wrongUsage(`--from is "${from}", but must be an iteration such as i3.`);
  const isReplay = replay || [trial, from, values["save-test"]].some((value) => value !== undefined);
  return isReplay ? { trials: trial, from: iteration } : undefined;
}

interface Demand {
  readonly text: string;
  fits(value: number): boolean;
}

const isCount: Demand = { text: "a whole number of at least 1", fits: (value) => Number.isInteger(value) && value >= 1 };
const isRate: Demand = { text: "a number above 0 and at most 1", fits: (value) => value > 0 && value <= 1 };
const isCertainty: Demand = {
  text: "a certainty from 0.5 to 1, such as 0.95 (default: 0.997)",
  fits: (value) => value >= 0.5 && value <= 1,
};
const isShare: Demand = { text: "a number from 0 to 1", fits: (value) => value >= 0 && value <= 1 };
const isAmount: Demand = { text: "an amount in USD", fits: (value) => value >= 0 && Number.isFinite(value) };

function readNumber(name: string, given: string | undefined, { text, fits }: Demand): number | undefined {
  if (given === undefined) return undefined;
  const value = given.trim() === "" ? Number.NaN : Number(given);
  if (fits(value)) return value;
  throw wrongUsage(`--${name} is "${given}", but must be ${text}.`);
}

/** Removes undefined options, because they would replace the evaluation's own. */
function omitUndefined<T extends object>(fields: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

const repeatedNames = ["trials", "case", "pass-rate", "stop-early", "max-cost", "concurrency", "model"] as const;

function repeatArguments(values: EvalValues): readonly string[] {
  return repeatedNames.flatMap((name): readonly string[] => {
    const value = values[name];
    if (value === undefined) return [];
    return typeof value === "string" ? [`--${name}=${value}`] : value.map((one) => `--${name}=${one}`);
  });
}
