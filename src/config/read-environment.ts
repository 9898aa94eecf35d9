// Reads limits and timeouts out of environment variables. Each variable is one row of one table. Written in the part of zod that zod 3
// and zod 4 have in common, so that either may be installed.

import { z } from "zod";
import {
  checkFields,
  type Checks,
  cutText,
  describeValue,
  invalidOption,
  is,
  isFunction,
  isRecord,
  longestTimerMs,
  redactSecrets,
  resolveLimits,
  resolveTimeouts,
} from "../core/entry-kit.ts";

/** Variables by name, such as `process.env`. Values that are not text are those of platforms whose variables are JSON. */
export type Environment = { readonly [name: string]: unknown };

/** Options from an environment, ready for `runToolLoop`. */
export interface EnvironmentSettings {
  /** Goes into the option `limits`. */
  readonly limits: { readonly maxIterations: number; readonly maxConsecutiveToolErrors: number };
  /** Goes into the option `timeouts`; milliseconds. */
  readonly timeouts: { readonly streamIdleMs: number; readonly toolMs: number };
  /** One for each variable that did not say a number within its range. */
  readonly problems: readonly EnvironmentProblem[];
}

/** A variable whose value could not be taken as it is. */
export interface EnvironmentProblem {
  /** The variable. */
  readonly name: string;
  /** The value found: a text cut to 64 characters and freed of credentials; of anything else, its type. */
  readonly value: string;
  readonly problem: "blank" | "not-a-whole-number" | "below-minimum" | "above-maximum";
  /** The value used in its place: the default, the minimum or the maximum. */
  readonly used: number;
}

/** The options that an environment can set. */
export type EnvironmentName = "maxIterations" | "maxConsecutiveToolErrors" | "streamIdleMs" | "toolMs";

/** How an environment is read. */
export interface EnvironmentOptions {
  /** Names of variables, where they are not those of the table. */
  readonly names?: { readonly [Option in EnvironmentName]?: string | undefined } | undefined;
  /** Told of each problem, in the order of `problems`. Default: nobody. */
  readonly onProblem?: ((problem: EnvironmentProblem) => void) | undefined;
}

/** A variable, and the range that it is kept in. */
interface Variable {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

type Variables = {
  readonly [Group in "limits" | "timeouts"]: { readonly [Option in keyof EnvironmentSettings[Group]]: Variable };
};

/** More than any sane run needs, and still an end. */
const largestCount = 10_000;

const variables: Variables = {
  limits: {
    maxIterations: { name: "TURNWRIGHT_MAX_ITERATIONS", min: 1, max: largestCount },
    maxConsecutiveToolErrors: { name: "TURNWRIGHT_MAX_CONSECUTIVE_TOOL_ERRORS", min: 1, max: largestCount },
  },
  timeouts: {
    streamIdleMs: { name: "TURNWRIGHT_STREAM_IDLE_MS", min: 10_000, max: longestTimerMs },
    toolMs: { name: "TURNWRIGHT_TOOL_MS", min: 10_000, max: longestTimerMs },
  },
};

const optionChecks: Checks<EnvironmentOptions> = {
  names: ["an object", isRecord],
  onProblem: ["a function", isFunction],
};

const nameChecks: Checks<NonNullable<EnvironmentOptions["names"]>> = {
  maxIterations: is.name,
  maxConsecutiveToolErrors: is.name,
  streamIdleMs: is.name,
  toolMs: is.name,
};

const longestShown = 64;

/** Digits, perhaps with a sign and white space around. `Number` alone would take "", "0x10" and "1e9", `parseInt` "10abc". */
const wholeNumber = z.union([
  z
    .string()
    .trim()
    .regex(/^[+-]?\d+$/)
    .transform(Number),
  z.number().refine(Number.isInteger),
]);

/**
 * Reads the limits and timeouts that an environment sets, and never prints. Default environment: the process's, where there is
 * a process; on platforms without one, hand in theirs.
 *
 * | variable | option | default | minimum | maximum |
 * |---|---|---|---|---|
 * | `TURNWRIGHT_MAX_ITERATIONS` | `limits.maxIterations` | 100 | 1 | 10,000 |
 * | `TURNWRIGHT_MAX_CONSECUTIVE_TOOL_ERRORS` | `limits.maxConsecutiveToolErrors` | 5 | 1 | 10,000 |
 * | `TURNWRIGHT_STREAM_IDLE_MS` | `timeouts.streamIdleMs` | 120,000 | 10,000 | 2,147,483,647 |
 * | `TURNWRIGHT_TOOL_MS` | `timeouts.toolMs` | 300,000 | 10,000 | 2,147,483,647 |
 *
 * `names` reads other variables, such as `{ maxIterations: "MAX_STEPS" }`.
 *
 * A value is a whole number in decimal digits, with a sign and white space around it if you like. One out of range is moved to
 * the minimum or the maximum; a blank one and one that is no such number give the default; each of these is a problem,
 * told once. An absent variable gives the default and is no problem. The ranges hold for the environment only: options
 * that are handed to `runToolLoop` may be lower or higher.
 *
 * Throws LoopError "invalid-option" where `env` is no object or `onProblem` no function, and "unknown-option" for any other
 * option; what `onProblem` throws passes through.
 *
 * @example
 * const { limits, timeouts } = readEnvironment(process.env, {
 *   onProblem: ({ name, problem, used }) => console.warn(`${name}: ${problem}, ${used} is used.`),
 * });
 * await runToolLoop({ provider, tools, messages, limits, timeouts });
 */
export function readEnvironment(env: Environment = hostEnvironment(), options: EnvironmentOptions = {}): EnvironmentSettings {
  if (!isRecord(env)) throw invalidOption("env", "an object of variables", env);
  checkFields("options", options, optionChecks);
  const { names = {}, onProblem } = options;
  checkFields("options.names", names, nameChecks);
  const problems: EnvironmentProblem[] = [];
  const read = (option: EnvironmentName, variable: Variable, fallback: number): number => {
    const name = names[option] ?? variable.name;
    const value = env[name];
    const judged = judge(value, variable, fallback);
    if (judged.problem === undefined) return judged.used;
    problems.push({ name, value: show(value), problem: judged.problem, used: judged.used });
    return judged.used;
  };
  const limits = readGroup(variables.limits, resolveLimits(), read);
  const timeouts = readGroup(variables.timeouts, resolveTimeouts(), read);
  for (const problem of problems) onProblem?.(problem);
  return { limits, timeouts, problems };
}

/** Read through the global, which workers and browsers lack. */
function hostEnvironment(): Environment {
  const host: unknown = Reflect.get(globalThis, "process");
  const env = isRecord(host) ? host["env"] : undefined;
  return isRecord(env) ? env : {};
}

type Numbers<Option extends string> = { readonly [Name in Option]: number };

function readGroup<Option extends EnvironmentName>(
  group: { readonly [Name in Option]: Variable },
  defaults: Numbers<NoInfer<Option>>,
  read: (option: EnvironmentName, variable: Variable, fallback: number) => number,
): Numbers<Option> {
  const numbers: { [option: string]: number } = {};
  for (const option in group) numbers[option] = read(option, group[option], defaults[option]);
  return numbers as Numbers<Option>;
}

interface Judgement {
  readonly problem?: EnvironmentProblem["problem"];
  readonly used: number;
}

function judge(value: unknown, { min, max }: Variable, fallback: number): Judgement {
  if (value === undefined) return { used: fallback };
  if (typeof value === "string" && value.trim() === "") return { problem: "blank", used: fallback };
  const { data: number } = wholeNumber.safeParse(value);
  if (number === undefined) return { problem: "not-a-whole-number", used: fallback };
  if (number < min) return { problem: "below-minimum", used: min };
  if (number > max) return { problem: "above-maximum", used: max };
  return { used: number };
}

function show(value: unknown): string {
  return typeof value === "string" ? cutText(redactSecrets(value), longestShown) : describeValue(value);
}
