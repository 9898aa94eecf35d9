// Checks the caller's options before any request: unknown names, wrong types, and limits that are out of range.

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
  refuseOption,
} from "../../errors/check-fields.ts";
import { isApproval } from "../../policies/approval.ts";
import { handoffKey } from "../../tools/registry.ts";
import { isOutsideResult } from "../../tools/to-outcome.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { edges } from "../../utils/edges.ts";
import { providerCheck } from "../../errors/provider-error.ts";
import { isEmitter, isRecord } from "../../utils/guards.ts";
import { isPlainData } from "../../utils/json.ts";
import { limitRules, timeoutRules } from "../run/limits.ts";
import type { AgentTable } from "../run/run.ts";

const isListOfTexts = (value: unknown): boolean => is.texts[1](value);
const isAnything = (): boolean => true;
const has =
  (...methods: readonly string[]) =>
  (value: unknown): boolean =>
    (typeof value === "object" || isFunction(value)) &&
    value !== null &&
    methods.every((name) => isFunction(Reflect.get(value as object, name)));

const toolsExpected = 'an array of tools, or a registry (for tools in an object: importTools(tools) from "turnwright/interop")';

function madeBy(maker: string, kind: string, method: string): Check {
  return [`made by ${maker}`, (value) => has(method)(value) && Reflect.get(value as object, "kind") === kind];
}

const handoffsNeeded: Check = [
  'set if "tools" has tools of createHandoffs, because a handoff has no effect without it',
  isAnything,
  () => ({ instead: "tools: agents.tools, policies: { handoffs: agents }" }),
];

const pricingNeeded: Check = [
  'a function if "limits.maxCostUSD" is set',
  isAnything,
  () => ({ instead: 'genaiPrices(), from "turnwright/prices"' }),
];

const filledText: Check = ["a string that is not empty", (value) => isText(value) && value !== ""];

const optionChecks: Checks<LoopOptions> = {
  provider: providerCheck,
  tools: [toolsExpected, (value) => Array.isArray(value) || has("definitions", "executeTool")(value)],
  messages: [
    "an array of at least one message",
    (value) => Array.isArray(value) && value.length > 0,
    (value) => edges.adviseMessages?.(value),
  ],
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
  signal: [
    "an AbortSignal",
    (value) => value instanceof AbortSignal,
    (value) => (value instanceof AbortController ? { received: "an AbortController", instead: "controller.signal" } : undefined),
  ],
  events: ["an eventemitter3 emitter, for example createLoopEvents()", isEmitter],
  journal: [
    "a journal (for a saved journal: memoryJournal(saved))",
    /* @__PURE__ */ has("step", "all"),
    (value) => (isText(value) ? { instead: 'fileJournal("run.jsonl"), from "turnwright/journal"' } : undefined),
  ],
  runId: filledText,
  version: filledText,
  resume: ['"retry-last"', (value) => value === "retry-last"],
  decisions: ["an object of decisions by call id", isRecord],
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
  finalAnswer: ["true, false or { reserve }", (value) => typeof value === "boolean" || isRecord(value)],
  stopWhen: ["a function, or an array of functions", (value) => [value].flat().every(isFunction)],
  loopDetection: /* @__PURE__ */ madeBy("detectLoops", "loop-detection", "begin"),
  output: /* @__PURE__ */ madeBy("structuredOutput", "structured-output", "judge"),
  results: /* @__PURE__ */ madeBy("processResults", "result-processing", "process"),
  masking: /* @__PURE__ */ madeBy("maskResults", "masking", "createView"),
  compaction: /* @__PURE__ */ madeBy("compactMessages", "compaction", "compact"),
  promptCache: /* @__PURE__ */ madeBy("watchPromptCache", "prompt-cache", "createWatcher"),
  guardrails: /* @__PURE__ */ madeBy("guardrails", "guardrails", "begin"),
  handoffs: /* @__PURE__ */ madeBy("createHandoffs", "handoffs", "planFor"),
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
  extra: ["an object of plain data, with extra fields for the provider API", (value) => isRecord(value) && isPlainData(value)],
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
  stash: ["a stash, for example createContextStash()", /* @__PURE__ */ has("take")],
};

const sessionChecks: Checks<Pick<Session, "detailsLabel" | "surfaceUserErrors">> = {
  detailsLabel: is.text,
  surfaceUserErrors: is.flag,
};

/**
 * Throws LoopError "unknown-option" for an option of `runToolLoop`, such as `provider`, in options of another kind. `known` are
 * the names that these options have, and `write` returns the code that passes the option to its place.
 */
export function refuseLoopOptions(options: unknown, known: object, write: (name: string) => string): void {
  if (!isRecord(options)) return;
  const option = Object.keys(options).find((name) => !Object.hasOwn(known, name) && Object.hasOwn(optionChecks, name));
  if (option !== undefined) throw new LoopError("unknown-option", { option, instead: write(option) });
}

export function checkOptions(options: unknown): asserts options is LoopOptions {
  checkPlacement(options);
  checkFields("options", options, optionChecks);
  const { provider, messages, modelSettings, policies, hooks, session } = options as LoopOptions;
  if (provider === undefined) throw refuseOption("provider", optionChecks.provider, provider);
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
  checkNeededTools(options as LoopOptions);
}

/** Throws if an option is at the top level instead of in its group, such as `limits`. This is the most common mistake. */
function checkPlacement(options: unknown): void {
  const misplaced = isRecord(options) ? Object.keys(options).filter((name) => !Object.hasOwn(optionChecks, name)) : [];
  if (misplaced.length === 0) return;
  const limits = { ...limitRules, onUnknownCost: true };
  const groups = { limits, timeouts: timeoutRules, policies: policyChecks, hooks: hookChecks };
  for (const name of misplaced) {
    for (const [group, known] of Object.entries(groups)) {
      if (!Object.hasOwn(known, name)) continue;
      const nearest = `${group}.${name}`;
      // A replacement may name another group: many libraries call the limit of one answer "maxTokens".
      const found = edges.replacementOf?.(name, Object.keys(optionChecks));
      throw new LoopError("unknown-option", { option: name, nearest: found?.nearest ?? nearest, instead: found?.instead });
    }
  }
}

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

/** Unknown fields must throw, because a gate with a misspelt `allowedNames` would allow all tools. */
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

/** Without `pricing`, the limit `maxCostUSD` would never be reached. */
function checkPricing({ limits, pricing }: LoopOptions): void {
  const isCapped = limits?.maxCostUSD !== undefined && limits.maxCostUSD !== Number.POSITIVE_INFINITY;
  if (isCapped && pricing === undefined) throw refuseOption("pricing", pricingNeeded, pricing);
}

/** A run with a random id could never be resumed, so a durable journal needs `runId`. */
function checkRunId({ journal, runId }: LoopOptions): void {
  if (journal?.durable === true && runId === undefined)
    throw invalidOption("runId", 'a string if "journal.durable" is true', runId);
}

/** An invalid decision must throw, because it would otherwise deny or fail the call. */
function checkDecisions({ decisions }: LoopOptions): void {
  for (const [id, decision] of Object.entries<unknown>(decisions ?? {})) {
    // Check a copy with only the own fields, because the run uses such a copy.
    const own = isRecord(decision) ? { ...decision } : decision;
    if (isDecision(own)) continue;
    const given = isRecord(own) ? (own["kind"] ?? own) : own;
    throw invalidOption(
      `decisions.${id}`,
      'an object whose "kind" is approve, deny, modify (with "args"), ask, result (with plain data as "result") or failed (with a string "error")',
      given,
    );
  }
}

function isDecision(value: unknown): boolean {
  return isApproval(value) || isOutsideResult(value) || (isRecord(value) && value["kind"] === "ask");
}

function checkSession({ responseTarget, detailsLabel, surfaceUserErrors }: Session): void {
  checkFields("session", { detailsLabel, surfaceUserErrors }, sessionChecks);
  if (responseTarget === undefined || isResponseTarget(responseTarget)) return;
  throw invalidOption(
    "session.responseTarget",
    'an object with a string "kind", such as "persona", and an optional string "name"',
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

/**
 * Throws if the array `tools` lacks a tool that a policy or `toolChoice` needs. A registry is not checked, because it may add the
 * tool later. `path` is the place of the options in other options, such as `members.researcher`.
 */
export function checkNeededTools(options: Pick<LoopOptions, "tools" | "policies" | "toolChoice">, path?: string): void {
  const { tools = [], policies = {}, toolChoice } = options;
  if (!Array.isArray(tools)) return;
  const prefix = path === undefined ? "" : `${path}.`;
  if (policies.handoffs === undefined && tools.some((tool: unknown) => isRecord(tool) && handoffKey in tool))
    throw refuseOption(`${prefix}policies.handoffs`, handoffsNeeded, undefined);
  const names = new Set(tools.map((tool: unknown) => (isRecord(tool) ? tool["name"] : undefined)));
  const check = (toolName: string | undefined, why: string): void => {
    if (toolName === undefined || names.has(toolName)) return;
    const expected = `an array with the tool "${toolName}" (${why})`;
    throw new LoopError("invalid-option", { option: `${prefix}tools`, expected, received: "an array without this tool" });
  };
  const handoffs = policies.handoffs?.tools ?? [];
  checkChoice(toolChoice, new Set([...names, ...handoffs.map(({ name }) => name)]), prefix);
  check(policies.results?.toolName, 'the texts from "policies.results.cacher" mention this tool');
  for (const { name } of handoffs) check(name, 'one of agents.tools, which "policies.handoffs" needs');
  (policies.handoffs as AgentTable | undefined)?.checkChoices(names);
}

function checkChoice(toolChoice: LoopOptions["toolChoice"], names: ReadonlySet<unknown>, prefix: string): void {
  if (typeof toolChoice !== "object" || names.has(toolChoice.name)) return;
  throw invalidOption(`${prefix}toolChoice.name`, 'the name of a tool in "tools"', toolChoice.name);
}

function isNames(value: unknown): boolean {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}
