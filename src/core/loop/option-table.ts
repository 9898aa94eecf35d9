// Lists every option of a run with its type, range and default. The option checks, the defaults and the documentation tests read these
// tables.

import type { Timeouts } from "../types/common.ts";
import type { IterationPlan, LoopLimits, LoopOptions } from "../types/loop-options.ts";
import type { FinalAnswerReserve } from "../types/middleware-options.ts";
import type { ModelSettings } from "../types/provider.ts";
import type { ResponseTarget, Session } from "../types/common.ts";
import {
  type Check,
  type Checks,
  is,
  isFunction,
  isText,
  needed,
  type NumberRule,
  table,
  timeLimit,
} from "../../shared/errors/check-fields.ts";
import { maxTimerMs } from "../../shared/signals.ts";
import { isApproval } from "../../shared/approval.ts";
import { providerCheck } from "../../shared/errors/provider-checks.ts";
import { isExactData, isOutsideResult } from "../../shared/to-outcome.ts";
import { isEmitter, isRecord } from "../../shared/guards.ts";
import { isPlainData } from "../../shared/json.ts";
import { limitDefaults, type LimitName, timeoutDefaults } from "./limits.ts";

/** The rule for a number that has a default. */
type Limit = NumberRule & { readonly fallback: number };

/** Adds the default to the rule of each number. `common` is the rule of the numbers that have no rule of their own. */
function withFallbacks<Name extends string>(
  defaults: { readonly [Key in Name]: number },
  common: NumberRule,
  own: { readonly [Key in Name]?: NumberRule },
): { readonly [Key in Name]: Limit } {
  const rules: { [name: string]: Limit } = {};
  for (const [name, fallback] of Object.entries<number>(defaults)) rules[name] = { ...(own[name as Name] ?? common), fallback };
  return rules as { readonly [Key in Name]: Limit };
}

export const limitRules: { readonly [Name in LimitName]: Limit } = /* @__PURE__ */ table(() =>
  withFallbacks(
    limitDefaults,
    { min: 1 },
    {
      softWarnIteration: { min: 0 },
      maxInterrupts: { min: 0 },
      maxPauses: { min: 0 },
      maxCostUSD: { min: 0, fraction: true },
      wallClockMs: timeLimit,
    },
  ),
);

export const timeoutRules: { readonly [Name in keyof Timeouts]-?: Limit } = /* @__PURE__ */ table(() =>
  withFallbacks(timeoutDefaults, timeLimit, { toolCleanupMs: { min: 0, max: maxTimerMs } }),
);

export const limitChecks: Checks<LoopLimits> = /* @__PURE__ */ table(() => ({
  ...limitRules,
  onUnknownCost: ["end", "continue"],
}));

export const reserveChecks: Checks<FinalAnswerReserve> = /* @__PURE__ */ table(() => ({
  tokens: { min: 1, infinite: false },
  costUSD: { min: 0, fraction: true, infinite: false },
  ms: { ...timeLimit, infinite: false },
}));

const has =
  (...methods: readonly string[]) =>
  (value: unknown): boolean =>
    (isRecord(value) || isFunction(value)) && methods.every((name) => isFunction(Reflect.get(value as object, name)));

const number: Check = ["a number", (value) => Number.isFinite(value)];
const filledText: Check = ["a non-empty string", (value) => isText(value) && value !== ""];
export const toolNames: Check = /* @__PURE__ */ table(() => ["an array of tool names", is.texts[1]]);

const modelSettingsChecks: Checks<ModelSettings> = /* @__PURE__ */ table(() => ({
  maxOutputTokens: ["a whole number of at least 1", (value) => Number.isInteger(value) && Number(value) > 0],
  temperature: number,
  topP: number,
  stopSequences: is.texts,
  seed: number,
  extra: ["an object of plain data", (value) => isRecord(value) && isPlainData(value), "extra"],
}));

const toolChoiceCheck: Check = [
  '"auto", "required", "none" or { name }',
  (value) => value === "auto" || value === "required" || value === "none" || (isRecord(value) && isText(value["name"])),
];

/** The checks of the options that every model request has. */
export const requestChecks: {
  readonly modelSettings: Checks<ModelSettings>;
  readonly toolChoice: Check;
} = { modelSettings: modelSettingsChecks, toolChoice: toolChoiceCheck };

const responseTarget: Checks<ResponseTarget> = /* @__PURE__ */ table(() => ({
  kind: needed(is.text),
  name: is.text,
}));

export const sessionChecks: Checks<Session> = /* @__PURE__ */ table(() => ({
  conversationId: is.text,
  userId: is.text,
  locale: is.text,
  responseTarget,
  surfaceUserErrors: true,
  detailsLabel: is.text,
}));

const decisionKinds: ReadonlySet<unknown> = /* @__PURE__ */ new Set(["approve", "deny", "modify", "ask", "result", "failed"]);

/**
 * Checks an entry in `answers`. An invalid decision must throw, because it would otherwise deny or fail the call. Accepts other values of
 * `kind`, because answers to different kinds of waits may use them. The run itself checks those answers.
 */
const decision: Check = [
  "an object",
  (value) => {
    // Checks a copy that contains only own fields, because the run uses the same kind of copy.
    const own: unknown = isRecord(value) ? { ...value } : value;
    const kind = isRecord(own) ? own["kind"] : undefined;
    if (decisionKinds.has(kind)) return isApproval(own) || isOutsideResult(own) || kind === "ask";
    return isExactData(own);
  },
  "decision",
  true,
];

export const optionChecks: Checks<LoopOptions> = /* @__PURE__ */ table(() => ({
  provider: needed(providerCheck),
  tools: [
    "an array of tools or a registry",
    (value) => Array.isArray(value) || has("definitions", "executeTool")(value),
    "tools",
  ],
  messages: ["a non-empty array of messages", (value) => Array.isArray(value) && value.length > 0, "messages", true],
  system: is.text,
  ...requestChecks,
  messageIdMap: is.any,
  limits: limitChecks,
  timeouts: timeoutRules,
  pricing: is.fn,
  middleware: ["an array of middleware", Array.isArray],
  allowToolChange: is.fn,
  answers: { "*": decision },
  control: ["a control from createLoopControl", has("stop", "kill")],
  signal: ["an AbortSignal", (value) => value instanceof AbortSignal, "signal"],
  events: ["an eventemitter3 emitter", isEmitter, "events"],
  journal: ["a journal", has("step", "read"), "journal"],
  runId: filledText,
  version: filledText,
  resume: ['"retry-last"', (value) => value === "retry-last"],
  now: { min: 0, infinite: false },
  clock: ["a clock", has("now", "setTimeout", "clearTimeout"), "clock"],
  session: sessionChecks,
  context: is.any,
}));

export const planChecks: Checks<IterationPlan> = /* @__PURE__ */ table(() => ({
  provider: providerCheck,
  modelSettings: modelSettingsChecks,
  tools: toolNames,
  toolChoice: toolChoiceCheck,
  system: is.text,
}));
