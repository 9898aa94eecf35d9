// Checks the options of the caller before any request: unknown keys, wrong types, limits out of range.

import type { IterationPlan, LoopOptions } from "../../types/loop-options.ts";
import type { DeliberateGate, LoopPolicies, PreToolTextPolicy, RestartPolicy } from "../../types/policies.ts";
import type { ModelSettings } from "../../types/provider.ts";
import type { Session } from "../../types/common.ts";
import {
  type Check,
  checkFields,
  type Checks,
  invalidOption,
  is,
  isFunction,
  isText,
  isWithin,
} from "../../errors/check-fields.ts";
import { isOutsideResult } from "../../tools/to-outcome.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { replacementOf } from "../../errors/other-words.ts";
import { providerCheck } from "../../errors/provider-error.ts";
import { isEmitter, isRecord } from "../../utils/guards.ts";
import { isPlainData } from "../../utils/json.ts";
import { limitRules, timeoutRules } from "../run/limits.ts";

const isListOfTexts = (value: unknown): boolean => is.texts[1](value);
const isAnything = (): boolean => true;
const has =
  (...methods: readonly string[]) =>
  (value: unknown): boolean =>
    (typeof value === "object" || isFunction(value)) &&
    value !== null &&
    methods.every((name) => isFunction(Reflect.get(value as object, name)));

const toolsExpected =
  'an array of tools, or a registry (of an object of tools by name: importTools(tools) of "turnwright/interop")';

/** Checks for an optional part that brings its own code. */
function madeBy(maker: string, kind: string, method: string): Check {
  return [`made by ${maker}`, (value) => has(method)(value) && Reflect.get(value as object, "kind") === kind];
}

const optionChecks: Checks<LoopOptions> = {
  provider: providerCheck,
  tools: [toolsExpected, (value) => Array.isArray(value) || has("definitions", "executeTool")(value)],
  messages: ["an array of at least one message", (value) => Array.isArray(value) && value.length > 0],
  system: is.text,
  modelSettings: is.object,
  toolChoice: ['"auto", "required", "none" or { name }', isToolChoice],
  contextItems: ["an array of plain data", (value) => Array.isArray(value) && value.every(isPlainData)],
  messageIdMap: ["anything", isAnything],
  repair: is.flag,
  limits: is.object,
  timeouts: is.object,
  pricing: is.fn,
  policies: is.object,
  hooks: is.object,
  control: ["a control made by createLoopControl", /* @__PURE__ */ has("stop", "kill")],
  signal: ["an AbortSignal", (value) => value instanceof AbortSignal],
  events: ["an eventemitter3, such as createLoopEvents makes", isEmitter],
  journal: ["a journal (of a saved one: memoryJournal(saved))", /* @__PURE__ */ has("step", "all")],
  runId: ["a string that is not empty", (value) => isText(value) && value !== ""],
  resume: ['"retry-last"', (value) => value === "retry-last"],
  decisions: ["an object of call ids and their decisions", isRecord],
  clock: [
    'a clock: an object with "now", "setTimeout" and "clearTimeout"',
    /* @__PURE__ */ has("now", "setTimeout", "clearTimeout"),
  ],
  session: is.object,
  context: ["anything", isAnything],
};

const policyChecks: Checks<LoopPolicies> = {
  gate: is.object,
  approve: is.fn,
  allowToolChange: is.fn,
  restarts: is.object,
  preToolText: is.object,
  finalAnswer: is.flag,
  stopWhen: ["a function, or an array of functions", (value) => [value].flat().every(isFunction)],
  loopDetection: /* @__PURE__ */ madeBy("detectLoops", "loop-detection", "begin"),
  output: /* @__PURE__ */ madeBy("structuredOutput", "structured-output", "judge"),
  results: /* @__PURE__ */ madeBy("processResults", "result-processing", "process"),
  masking: /* @__PURE__ */ madeBy("maskResults", "masking", "createView"),
};

const gateChecks: Checks<DeliberateGate> = {
  active: is.flag,
  allowedNames: ["an array or a set of tool names", isNames],
  triggerMatchByToolName: ["a Map", /* @__PURE__ */ has("get")],
  unsearched: ["an array of triggers", isListOfTexts],
  retain: is.fn,
};

const settingsChecks: Checks<ModelSettings> = {
  maxOutputTokens: ["a whole number of at least 1", (value) => isWithin(value, { min: 1 })],
  temperature: ["a number", Number.isFinite],
  topP: ["a number", Number.isFinite],
  stopSequences: is.texts,
  seed: ["a number", Number.isFinite],
  extra: ["an object of plain data; fields of the wire's own go here", (value) => isRecord(value) && isPlainData(value)],
};

const hookChecks: Checks<NonNullable<LoopOptions["hooks"]>> = {
  prepareIteration: is.fn,
  onIteration: is.fn,
};

const planChecks: Checks<IterationPlan> = {
  provider: optionChecks.provider,
  modelSettings: optionChecks.modelSettings,
  tools: ["an array of tool names", isListOfTexts],
  toolChoice: optionChecks.toolChoice,
  system: optionChecks.system,
};

const preToolTextChecks: Checks<PreToolTextPolicy> = {
  endAfterTextFamilies: ["an array of provider families", isListOfTexts],
  suppressFollowUpAfterText: ["an array of tool names", isListOfTexts],
};

const restartChecks: Checks<RestartPolicy> = {
  effects: ["an object of arrays of tool names", isRecord],
  stash: ["a stash, such as createContextStash makes", /* @__PURE__ */ has("take")],
};

const sessionChecks: Checks<Pick<Session, "detailsLabel" | "surfaceUserErrors">> = {
  detailsLabel: is.text,
  surfaceUserErrors: is.flag,
};

/** Throws LoopError "unknown-option" or "invalid-option" if a run cannot use the options. */
export function checkOptions(options: unknown): asserts options is LoopOptions {
  checkPlacement(options);
  checkFields("options", options, optionChecks);
  const { provider, messages, modelSettings, policies, hooks, session } = options as LoopOptions;
  if (provider === undefined) throw invalidOption("provider", optionChecks.provider[0], provider);
  if (provider.family !== undefined && !isText(provider.family))
    throw invalidOption("provider.family", "a string", provider.family);
  if (messages === undefined) throw invalidOption("messages", optionChecks.messages[0], messages);
  if (modelSettings !== undefined) checkFields("modelSettings", modelSettings, settingsChecks);
  if (policies !== undefined) checkPolicies(policies);
  if (hooks !== undefined) checkFields("hooks", hooks, hookChecks);
  if (session !== undefined) checkSession(session);
  checkPricing(options as LoopOptions);
  checkDecisions(options as LoopOptions);
  checkRunId(options as LoopOptions);
  checkCacheTool(options as LoopOptions);
}

/** The most common mistake is a top-level option that belongs into a group. */
function checkPlacement(options: unknown): void {
  const groups = {
    limits: { ...limitRules, onUnknownCost: true },
    timeouts: timeoutRules,
    policies: policyChecks,
    hooks: hookChecks,
  };
  for (const name of isRecord(options) ? Object.keys(options) : []) {
    if (Object.hasOwn(optionChecks, name)) continue;
    for (const [group, known] of Object.entries(groups)) {
      if (!Object.hasOwn(known, name)) continue;
      const nearest = `${group}.${name}`;
      const found = replacementOf(name, Object.keys(optionChecks));
      const instead = found?.nearest === nearest ? found.instead : undefined;
      throw new LoopError("unknown-option", { option: name, nearest, instead });
    }
  }
}

/** Throws LoopError if the result of `prepareIteration` is not a plan. */
export function checkPlan(plan: unknown): asserts plan is IterationPlan {
  checkFields("prepareIteration", plan, planChecks);
  const { modelSettings } = plan as IterationPlan;
  if (modelSettings !== undefined) checkFields("prepareIteration.modelSettings", modelSettings, settingsChecks);
}

function checkPolicies(policies: LoopPolicies): void {
  checkFields("policies", policies, policyChecks);
  const { gate, restarts, preToolText } = policies;
  if (gate !== undefined) checkGate(gate);
  if (restarts !== undefined) checkRestarts(restarts);
  if (preToolText !== undefined) checkFields("policies.preToolText", preToolText, preToolTextChecks);
}

/** With a misspelt allowlist, the gate would allow everything. */
function checkGate(gate: DeliberateGate): void {
  checkFields("policies.gate", gate, gateChecks);
  if (gate.active === undefined) throw invalidOption("policies.gate.active", gateChecks.active[0], gate.active);
}

function checkRestarts(restarts: RestartPolicy): void {
  checkFields("policies.restarts", restarts, restartChecks);
  for (const [suffix, names] of Object.entries(restarts.effects ?? {})) {
    if (!isListOfTexts(names)) throw invalidOption(`policies.restarts.effects.${suffix}`, "an array of tool names", names);
  }
}

/** Without prices, the limit could never be reached. */
function checkPricing({ limits, pricing }: LoopOptions): void {
  const isCapped = limits?.maxCostUSD !== undefined && limits.maxCostUSD !== Number.POSITIVE_INFINITY;
  if (isCapped && pricing === undefined) throw invalidOption("pricing", 'given where "limits.maxCostUSD" is', pricing);
}

/** With a new id for each call, the recorded run could never be resumed. */
function checkRunId({ journal, runId }: LoopOptions): void {
  if (journal?.durable === true && runId === undefined)
    throw invalidOption("runId", 'given where the journal is "durable"', runId);
}

/** An unreadable decision would deny a call that was approved, or fail one that waits for its result. */
function checkDecisions({ decisions }: LoopOptions): void {
  for (const [id, decision] of Object.entries<unknown>(decisions ?? {})) {
    if (isDecision(decision)) continue;
    const given = isRecord(decision) ? (decision["kind"] ?? decision) : decision;
    throw invalidOption(
      `decisions.${id}`,
      'one whose "kind" is approve, deny, modify (with "args"), ask, result (with a "result" of plain data) or failed (with an "error" text)',
      given,
    );
  }
}

function isDecision(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { kind, args } = value;
  if (kind === "modify") return args !== undefined && isPlainData(args);
  return kind === "approve" || kind === "deny" || kind === "ask" || isOutsideResult(value);
}

/** The other fields are only passed on. These are read with the answer, and an error then would lose it. */
function checkSession({ responseTarget, detailsLabel, surfaceUserErrors }: Session): void {
  checkFields("session", { detailsLabel, surfaceUserErrors }, sessionChecks);
  if (responseTarget === undefined || isResponseTarget(responseTarget)) return;
  throw invalidOption(
    "session.responseTarget",
    'an object whose "kind" is a text, such as "persona", and whose "name" is a string',
    responseTarget,
  );
}

function isResponseTarget(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { kind, name } = value;
  return isText(kind) && (name === undefined || typeof name === "string");
}

function isToolChoice(value: unknown): boolean {
  return value === "auto" || value === "required" || value === "none" || (isRecord(value) && isText(value["name"]));
}

/** A model that is told to use a tool must have it. A registry may add it later. */
function checkCacheTool({ tools = [], policies }: LoopOptions): void {
  const toolName = policies?.results?.toolName;
  if (toolName === undefined || !Array.isArray(tools)) return;
  if (tools.some((tool: unknown) => isRecord(tool) && tool["name"] === toolName)) return;
  const expected = `an array with the tool "${toolName}", which the texts of "policies.results.cacher" point to`;
  throw new LoopError("invalid-option", { option: "tools", expected, received: "one without it" });
}

function isNames(value: unknown): boolean {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}
