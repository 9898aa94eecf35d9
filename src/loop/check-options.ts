// Checks what a caller hands in, before any request: unknown keys, wrong types, limits out of range.

import type { Timeouts } from "../contract/clock.ts";
import type { LoopLimits, LoopOptions, PassPlan, DeliberateGate } from "../contract/loop-options.ts";
import type { ModelSettings } from "../contract/provider.ts";
import { LoopError } from "../errors/loop-error.ts";
import { describeValue } from "../kit/describe-value.ts";
import { isRecord } from "../kit/is-record.ts";
import { nearestName } from "../kit/nearest-name.ts";
import { toJson } from "../kit/to-json.ts";

/** The longest time that a timer can be set to. */
const maxTimerMs = 2 ** 31 - 1;

interface Rule {
  readonly fallback: number;
  readonly min: number;
  readonly max?: number;
}

const none = Number.POSITIVE_INFINITY;

/** Defaults and least values of the limits. */
const limitRules: { readonly [Name in keyof Required<LoopLimits>]: Rule } = {
  maxIterations: { fallback: 100, min: 1 },
  softWarnIteration: { fallback: 20, min: 0 },
  maxConsecutiveToolErrors: { fallback: 5, min: 1 },
  maxRestarts: { fallback: 5, min: 0 },
  maxPauses: { fallback: 10, min: 0 },
  toolConcurrency: { fallback: 10, min: 1 },
  maxToolCalls: { fallback: none, min: 1 },
  maxTokens: { fallback: none, min: 1 },
  wallClockMs: { fallback: none, min: 1, max: maxTimerMs },
};

/** Defaults and least values of the timeouts, in milliseconds. */
const timeoutRules: { readonly [Name in keyof Timeouts]: Rule } = {
  streamIdleMs: { fallback: 120_000, min: 1, max: maxTimerMs },
  firstChunkMs: { fallback: 300_000, min: 1, max: maxTimerMs },
  toolMs: { fallback: 300_000, min: 1, max: maxTimerMs },
  settleMs: { fallback: 5_000, min: 0, max: maxTimerMs },
  approvalMs: { fallback: none, min: 1, max: maxTimerMs },
  hookMs: { fallback: 30_000, min: 1, max: maxTimerMs },
};

const isFunction = (value: unknown): boolean => typeof value === "function";
const isText = (value: unknown): boolean => typeof value === "string";
const isFlag = (value: unknown): boolean => typeof value === "boolean";
const isAnything = (): boolean => true;
const has =
  (...methods: readonly string[]) =>
  (value: unknown): boolean =>
    typeof value === "object" && value !== null && methods.every((name) => isFunction(Reflect.get(value, name)));

type Check = readonly [expected: string, fits: (value: unknown) => boolean];
type Checks<T> = { readonly [Key in keyof Required<T>]: Check };

const optionChecks: Checks<LoopOptions> = {
  provider: ['a provider: an object with "id", "model" and "stream"', isProvider],
  tools: ["an array of tools, or a registry", (value) => Array.isArray(value) || has("definitions", "executeTool")(value)],
  messages: ["an array of at least one message", (value) => Array.isArray(value) && value.length > 0],
  system: ["a string", isText],
  modelSettings: ["an object", isRecord],
  toolChoice: ['"auto", "required", "none" or { name }', isToolChoice],
  contextItems: ["an array of plain data", (value) => Array.isArray(value) && value.every(isPlainData)],
  messageIdMap: ["anything", isAnything],
  repair: ["true or false", isFlag],
  limits: ["an object", isRecord],
  timeouts: ["an object", isRecord],
  pricing: ["a function", isFunction],
  policies: ["an object", isRecord],
  hooks: ["an object", isRecord],
  control: ["a control made by createLoopControl", has("stop", "kill")],
  signal: ["an AbortSignal", (value) => value instanceof AbortSignal],
  events: ["an eventemitter3, such as createLoopEvents makes", isEmitter],
  journal: ["a journal", has("step", "all")],
  runId: ["a string that is not empty", (value) => isText(value) && value !== ""],
  resume: ['"retry-last"', (value) => value === "retry-last"],
  clock: ['a clock: an object with "now", "setTimeout" and "clearTimeout"', has("now", "setTimeout", "clearTimeout")],
  session: ["an object", isRecord],
  context: ["anything", isAnything],
};

const policyChecks: Checks<NonNullable<LoopOptions["policies"]>> = {
  gate: ["an object", isRecord],
  approve: ["a function", isFunction],
  restarts: ["an object", isRecord],
  finalAnswer: ["true or false", isFlag],
};

const gateChecks: Checks<NonNullable<NonNullable<LoopOptions["policies"]>["gate"]>> = {
  active: ["true or false", isFlag],
  allowedNames: ["an array or a set of tool names", isNames],
  triggerMatchByToolName: ["a Map", has("get")],
  retain: ["a function", isFunction],
};

const settingsChecks: Checks<ModelSettings> = {
  maxOutputTokens: ["a whole number of at least 1", (value) => isWithin(value, { fallback: none, min: 1 })],
  temperature: ["a number", Number.isFinite],
  topP: ["a number", Number.isFinite],
  stopSequences: ["an array of strings", (value) => Array.isArray(value) && value.every(isText)],
  seed: ["a number", Number.isFinite],
  extra: ["an object; fields of the wire's own go here", isRecord],
};

const hookChecks: Checks<NonNullable<LoopOptions["hooks"]>> = {
  preparePass: ["a function", isFunction],
  onIteration: ["a function", isFunction],
};

const planChecks: Checks<PassPlan> = {
  provider: optionChecks.provider,
  modelSettings: optionChecks.modelSettings,
  tools: ["an array of tool names", (value) => Array.isArray(value) && value.every(isText)],
  toolChoice: optionChecks.toolChoice,
  system: optionChecks.system,
};

const restartChecks: Checks<NonNullable<NonNullable<LoopOptions["policies"]>["restarts"]>> = {
  effects: ["an object of arrays of tool names", (value) => isRecord(value) && Object.values(value).every(Array.isArray)],
};

/** Throws LoopError "unknown-option" or "invalid-option" where the caller's options cannot be run with. */
export function checkOptions(options: unknown): asserts options is LoopOptions {
  checkFields("options", options, optionChecks);
  const { provider, messages, modelSettings, policies, hooks } = options as LoopOptions;
  if (provider === undefined) throw invalid("provider", optionChecks.provider[0], provider);
  if (messages === undefined) throw invalid("messages", optionChecks.messages[0], messages);
  if (modelSettings !== undefined) checkFields("modelSettings", modelSettings, settingsChecks);
  if (policies !== undefined) checkFields("policies", policies, policyChecks);
  if (policies?.gate !== undefined) checkGate(policies.gate);
  if (policies?.restarts !== undefined) checkFields("policies.restarts", policies.restarts, restartChecks);
  if (hooks !== undefined) checkFields("hooks", hooks, hookChecks);
}

/** Throws LoopError where the answer of `preparePass` is no plan. */
export function checkPlan(plan: unknown): asserts plan is PassPlan {
  checkFields("preparePass", plan, planChecks);
  const { modelSettings } = plan as PassPlan;
  if (modelSettings !== undefined) checkFields("preparePass.modelSettings", modelSettings, settingsChecks);
}

/** A misspelt allowlist would let everything through. */
function checkGate(gate: DeliberateGate): void {
  checkFields("policies.gate", gate, gateChecks);
  if (gate.active === undefined) throw invalid("policies.gate.active", gateChecks.active[0], gate.active);
}

/** All limits, with defaults for those that are absent. Throws LoopError where one is out of range. */
export function resolveLimits(limits: LoopLimits = {}): { readonly [Name in keyof Required<LoopLimits>]: number } {
  return resolveNumbers("limits", limits, limitRules);
}

/** All timeouts, with defaults for those that are absent. Throws LoopError where one is out of range. */
export function resolveTimeouts(timeouts: LoopOptions["timeouts"] = {}): Timeouts {
  const resolved = resolveNumbers("timeouts", timeouts, timeoutRules);
  return { ...resolved, firstChunkMs: timeouts.firstChunkMs ?? Math.max(resolved.streamIdleMs, resolved.firstChunkMs) };
}

/** What a time limit must be, where this value is none. */
export function findTimeoutProblem(value: unknown): string | undefined {
  return isWithin(value, timeoutRules.toolMs) ? undefined : describeRule(timeoutRules.toolMs);
}

type Numbers<Name extends string> = { readonly [Key in Name]: number };

function resolveNumbers<Name extends string>(
  group: string,
  given: object,
  rules: { readonly [Key in Name]: Rule },
): Numbers<Name> {
  const resolved: { [key: string]: number } = {};
  for (const name of Object.keys(given)) if (!Object.hasOwn(rules, name)) throw unknown(name, group, rules);
  for (const [name, rule] of Object.entries<Rule>(rules)) {
    const value: unknown = Reflect.get(given, name);
    if (value !== undefined && !isWithin(value, rule)) throw invalid(`${group}.${name}`, describeRule(rule), value);
    resolved[name] = typeof value === "number" ? value : rule.fallback;
  }
  return resolved as Numbers<Name>;
}

function isWithin(value: unknown, { min, max = Number.MAX_SAFE_INTEGER }: Rule): boolean {
  if (value === none) return true;
  return Number.isInteger(value) && typeof value === "number" && value >= min && value <= max;
}

function describeRule({ min, max }: Rule): string {
  return max === undefined
    ? `a whole number of at least ${min}, or Infinity`
    : `a whole number from ${min} to ${max}, or Infinity`;
}

function checkFields(group: string, value: unknown, checks: { readonly [key: string]: Check }): void {
  if (!isRecord(value)) throw invalid(group, "an object", value);
  for (const [name, field] of Object.entries(value)) {
    if (!Object.hasOwn(checks, name)) throw unknown(name, group, checks);
    const check = checks[name];
    if (field !== undefined && check?.[1](field) === false) throw invalid(pathOf(group, name), check[0], field);
  }
}

function isProvider(value: unknown): boolean {
  return isRecord(value) && isText(value["id"]) && isText(value["model"]) && isFunction(value["stream"]);
}

function isToolChoice(value: unknown): boolean {
  return value === "auto" || value === "required" || value === "none" || (isRecord(value) && isText(value["name"]));
}

/** Node's own emitter has the same methods, but takes a listener off where eventemitter3 only does so after `once`. */
function isEmitter(value: unknown): boolean {
  return has("listeners", "listenerCount", "removeListener")(value) && !has("setMaxListeners")(value);
}

function isNames(value: unknown): boolean {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}

function isPlainData(value: unknown): boolean {
  try {
    toJson(value);
    return true;
  } catch {
    return false;
  }
}

function pathOf(group: string, name: string): string {
  return group === "options" ? name : `${group}.${name}`;
}

function unknown(name: string, group: string, known: object): LoopError<"unknown-option"> {
  const nearest =
    group === "options" ? (findInGroups(name) ?? nearestName(name, Object.keys(known))) : nearestName(name, Object.keys(known));
  return new LoopError("unknown-option", { option: pathOf(group, name), nearest });
}

/** The commonest mistake is an option at the top that belongs into a group. */
function findInGroups(name: string): string | undefined {
  const groups = { limits: limitRules, timeouts: timeoutRules, policies: policyChecks, hooks: hookChecks };
  for (const [group, known] of Object.entries(groups)) if (Object.hasOwn(known, name)) return `${group}.${name}`;
  return undefined;
}

function invalid(option: string, expected: string, received: unknown): LoopError<"invalid-option"> {
  return new LoopError("invalid-option", { option, expected, received: describeValue(received) });
}
