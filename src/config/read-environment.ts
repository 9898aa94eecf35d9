// Use only features that zod 3 and zod 4 share, because either version may be installed.

import { z } from "zod";
import { checkFields, type Checks, invalidOption, is, isRecord, limitRules, timeoutRules } from "../core/kit.ts";
import { cutText, describeValue } from "../shared/texts.ts";
import { maxTimerMs } from "../shared/signals.ts";
import { redactSecrets } from "../shared/redact-secrets.ts";

/** Environment variables by name, such as `process.env`. Some platforms allow JSON variables, so a value need not be a string. */
export type Environment = { readonly [name: string]: unknown };

/** Options for `runToolLoop`, as set by environment variables. */
export interface EnvironmentSettings {
  /** Limits of a run. Pass them to `runToolLoop` as the `limits` option. */
  readonly limits: { readonly maxIterations: number; readonly maxConsecutiveToolErrors: number };
  /** Timeouts in milliseconds. Pass them to `runToolLoop` as the `timeouts` option. */
  readonly timeouts: { readonly streamIdleMs: number; readonly toolMs: number };
  /** One problem for each variable whose value is not a number in the allowed range. */
  readonly problems: readonly EnvironmentProblem[];
}

/** A variable whose value was replaced. */
export interface EnvironmentProblem {
  /** The name of the variable. */
  readonly name: string;
  /** The value of the variable, shortened to 64 characters and without credentials. If the value is not a string, its type. */
  readonly value: string;
  readonly problem: "blank" | "not-a-whole-number" | "below-minimum" | "above-maximum";
  /** The number that is used instead: the default, the minimum or the maximum. */
  readonly used: number;
}

/** The options that environment variables can set. */
export type EnvironmentName = "maxIterations" | "maxConsecutiveToolErrors" | "streamIdleMs" | "toolMs";

/** The options for `readEnvironment`. */
export interface EnvironmentOptions {
  /** Names of variables to read instead of the default ones. */
  readonly names?: { readonly [Option in EnvironmentName]?: string | undefined } | undefined;
  /** Called with each problem, in the order of `problems`. Default none. */
  readonly onProblem?: ((problem: EnvironmentProblem) => void) | undefined;
}

interface Variable {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

type Variables = {
  readonly [Group in "limits" | "timeouts"]: { readonly [Option in keyof EnvironmentSettings[Group]]: Variable };
};

const largestCount = 10_000;

const variables: Variables = {
  limits: {
    maxIterations: { name: "TURNWRIGHT_MAX_ITERATIONS", min: 1, max: largestCount },
    maxConsecutiveToolErrors: { name: "TURNWRIGHT_MAX_CONSECUTIVE_TOOL_ERRORS", min: 1, max: largestCount },
  },
  timeouts: {
    streamIdleMs: { name: "TURNWRIGHT_STREAM_IDLE_MS", min: 10_000, max: maxTimerMs },
    toolMs: { name: "TURNWRIGHT_TOOL_MS", min: 10_000, max: maxTimerMs },
  },
};

const names: Checks<NonNullable<EnvironmentOptions["names"]>> = {
  maxIterations: is.name,
  maxConsecutiveToolErrors: is.name,
  streamIdleMs: is.name,
  toolMs: is.name,
};

const optionChecks: Checks<EnvironmentOptions> = { names, onProblem: is.fn };

const limitDefaults = {
  maxIterations: limitRules.maxIterations.fallback,
  maxConsecutiveToolErrors: limitRules.maxConsecutiveToolErrors.fallback,
};

const timeoutDefaults = { streamIdleMs: timeoutRules.streamIdleMs.fallback, toolMs: timeoutRules.toolMs.fallback };

const maxShownLength = 64;

/** Matches whole numbers only. `Number` alone would accept "", "0x10" and "1e9", and `parseInt` would accept "10abc". */
const wholeNumber = z.union([
  z
    .string()
    .trim()
    .regex(/^[+-]?\d+$/)
    .transform(Number),
  z.number().refine(Number.isInteger),
]);

/**
 * Reads limits and timeouts from environment variables. Never prints anything. `env` defaults to `process.env`. On platforms
 * without `process`, pass the platform's variables.
 *
 * | variable | option | default | minimum | maximum |
 * |---|---|---|---|---|
 * | `TURNWRIGHT_MAX_ITERATIONS` | `limits.maxIterations` | 100 | 1 | 10,000 |
 * | `TURNWRIGHT_MAX_CONSECUTIVE_TOOL_ERRORS` | `limits.maxConsecutiveToolErrors` | 5 | 1 | 10,000 |
 * | `TURNWRIGHT_STREAM_IDLE_MS` | `timeouts.streamIdleMs` | 120,000 | 10,000 | 2,147,483,647 |
 * | `TURNWRIGHT_TOOL_MS` | `timeouts.toolMs` | 300,000 | 10,000 | 2,147,483,647 |
 *
 * Use `names` to read other variables, for example `{ maxIterations: "MAX_STEPS" }`.
 *
 * A value must be an integer in decimal digits. A sign, and whitespace around the number, are allowed. A number outside its
 * range is replaced with the minimum or the maximum. A blank value, or a value that is not an integer, is replaced with the
 * default. Each replacement is reported as one problem. If a variable is absent, the default is used, and no problem is
 * reported. The ranges only apply to environment variables: options that you pass to `runToolLoop` may be lower or higher.
 *
 * Throws LoopError "invalid-option" if `env` is not an object or `onProblem` is not a function, and "unknown-option" for an
 * unknown option. Errors from `onProblem` are thrown unchanged.
 *
 * @example
 * const { limits, timeouts } = readEnvironment(process.env, {
 *   onProblem: ({ name, problem, used }) => console.warn(`${name}: ${problem}, ${used} is used.`),
 * });
 * await runToolLoop({ provider, tools, messages, limits, timeouts });
 */
export function readEnvironment(env: Environment = hostEnvironment(), options: EnvironmentOptions = {}): EnvironmentSettings {
  if (!isRecord(env)) throw invalidOption("env", "an object that maps variable names to values", env);
  checkFields("options", options, optionChecks);
  const { names = {}, onProblem } = options;
  const problems: EnvironmentProblem[] = [];
  const read = (option: EnvironmentName, variable: Variable, fallback: number): number => {
    const name = names[option] ?? variable.name;
    const value = env[name];
    const judged = judge(value, variable, fallback);
    if (judged.problem === undefined) return judged.used;
    problems.push({ name, value: show(value), problem: judged.problem, used: judged.used });
    return judged.used;
  };
  const limits = readGroup(variables.limits, limitDefaults, read);
  const timeouts = readGroup(variables.timeouts, timeoutDefaults, read);
  for (const problem of problems) onProblem?.(problem);
  return { limits, timeouts, problems };
}

/** Returns the environment variables. Workers and browsers have no `process`, so there are none. */
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
  return typeof value === "string" ? cutText(redactSecrets(value), maxShownLength) : describeValue(value);
}
