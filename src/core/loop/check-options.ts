// Checks a run's options before the first request. Rejects unknown names, wrong types, and options that require another option that is
// missing.

import {
  type Check,
  checkFields,
  type Checks,
  is,
  isText,
  needed,
  refuseOption,
  table,
} from "../../shared/errors/check-fields.ts";
import { invalidOption, LoopError } from "../../shared/errors/loop-error.ts";
import { optionChecks, reserveChecks } from "./option-table.ts";
import { none, type ResolvedLimits, resolveLimits } from "./limits.ts";
import type { LoopOptions } from "../types/loop-options.ts";
import type { Provider } from "../types/provider.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { handoffKey } from "../tools/registry.ts";
import { edges } from "../../shared/edges.ts";
import { isRecord } from "../../shared/guards.ts";
import { listTools } from "../../shared/list-tools.ts";
import { listMiddleware } from "./hooks.ts";
import type { Hooks, Middleware, MiddlewareList } from "../types/middleware.ts";

const hookChecks: Checks<Hooks> = /* @__PURE__ */ table(() => ({
  tools: ["an array of tools", Array.isArray],
  provider: is.fn,
  request: is.fn,
  call: is.fn,
  execute: is.fn,
  stream: is.fn,
  ends: is.fn,
  afterCalls: is.fn,
  beforeEnd: is.fn,
  registry: is.fn,
  on: is.fn,
  nest: is.fn,
  result: is.fn,
  close: is.fn,
}));

const middlewareChecks: Checks<Middleware> = /* @__PURE__ */ table(() => ({
  ...hookChecks,
  name: needed(is.name),
  pure: false,
  approves: is.flag,
  after: is.texts,
  reserve: ["an object", isRecord],
  begin: is.fn,
}));

const pricingNeeded: Check = /* @__PURE__ */ table(() => ['a function if "limits.maxCostUSD" is set', is.any[1], "pricing"]);

const handoffsNeeded: Check = /* @__PURE__ */ table(() => [
  'an array with the agents if "tools" contains tools from createHandoffs',
  is.any[1],
  "handoffs",
]);

/**
 * Throws LoopError "unknown-option" if an option of `runToolLoop`, such as `provider`, was passed to another function. `known` contains
 * that function's option names, and `write` returns code that passes the option in the right place.
 */
export function refuseLoopOptions(options: unknown, known: object, write: (name: string) => string): void {
  if (!isRecord(options)) return;
  const option = Object.keys(options).find((name) => !Object.hasOwn(known, name) && Object.hasOwn(optionChecks, name));
  if (option !== undefined) throw new LoopError("unknown-option", { option, instead: write(option) });
}

/** Checks a run's options. Throws LoopError "unknown-option" or "invalid-option". */
export function checkOptions(options: unknown): asserts options is LoopOptions {
  checkFields("options", options, optionChecks);
  const { provider, limits = {}, pricing, journal, runId, middleware = [] } = options as LoopOptions;
  if (provider.family !== undefined && !isText(provider.family))
    throw invalidOption("provider.family", "a string", provider.family);
  // Without `pricing`, the run could never reach this limit, because its cost would stay unknown.
  if ((limits.maxCostUSD ?? none) !== none && pricing === undefined) throw refuseOption("pricing", pricingNeeded, pricing);
  // Resuming in another process needs the same id, but a generated id is random.
  if (journal?.durable === true && runId === undefined)
    throw invalidOption("runId", 'a string if "journal.durable" is true', runId);
  checkMiddleware(middleware);
  checkReserves(listMiddleware(middleware), resolveLimits(limits));
  checkNeededTools(options as LoopOptions);
}

/**
 * Throws if the array `tools` lacks the tool that `toolChoice` names, or has tools from `createHandoffs` without their middleware. A
 * registry is not checked, because it may add the tool later. `place` is the path of these options inside other options, such as
 * "members.researcher.".
 */
export function checkNeededTools(options: Pick<LoopOptions, "tools" | "middleware" | "toolChoice">, place = ""): void {
  const { tools = [], middleware = [], toolChoice } = options;
  if (!Array.isArray(tools)) return;
  const all = listMiddleware(middleware);
  if (tools.some(isHandoff) && !all.some(({ name }) => name === "handoffs"))
    throw refuseOption(`${place}middleware`, handoffsNeeded, undefined);
  const names: ReadonlySet<unknown> = new Set(listTools({ tools, middleware })?.map(nameOf));
  if (typeof toolChoice === "object" && !names.has(toolChoice.name))
    throw invalidOption(`${place}toolChoice.name`, 'the name of a tool in "tools"', toolChoice.name);
}

type Need = readonly [value: unknown, needs: string, write: string];

/** The middleware that each trait needs to have an effect. */
const neededBy: { readonly [Trait in keyof ToolDefinition]?: Need } = {
  eager: [true, "eager-tools", "eagerTools()"],
  deferred: [true, "defer-tools", "deferTools()"],
  releasesResults: [true, "mask-results", "maskResults({ keepIterations: Infinity })"],
  requiresFollowUp: [false, "pre-tool-text", "preToolText()"],
  needsApproval: ["function", "approve", "approve()"],
};

/** Throws LoopError "invalid-option" if a tool has a trait that has no effect with this middleware. */
export function checkTraits(tools: readonly ToolDefinition[], middleware: readonly Middleware[], provider: Provider): void {
  for (const [trait, [value, needs, write]] of Object.entries(neededBy) as [keyof ToolDefinition, Need][]) {
    // Some services search deferred tools themselves, so their providers need no middleware for that.
    if (trait === "deferred" && provider.searchesTools === true) continue;
    const tool = tools.find(({ [trait]: given }) => given === value || typeof given === value);
    const isMet = ({ name, approves }: Middleware): boolean => name === needs || (needs === "approve" && approves === true);
    if (tool === undefined || middleware.some(isMet)) continue;
    const has = value === "function" ? `a function as "${trait}"` : `"${trait}"`;
    const expected = `an array that includes it because the tool "${tool.name}" has ${has}`;
    throw new LoopError("invalid-option", { option: "middleware", expected, received: `an array without ${write}` });
  }
}

function nameOf(tool: unknown): unknown {
  return isRecord(tool) ? tool["name"] : undefined;
}

function isHandoff(tool: unknown): boolean {
  return isRecord(tool) && handoffKey in tool;
}

/** Throws if two middleware have the same name, because records name the middleware that created them. */
function checkMiddleware(middleware: readonly unknown[]): void {
  const names = new Set<unknown>();
  for (const [index, one] of middleware.entries()) {
    if (one === false || one === undefined) continue;
    checkKnown(`middleware[${index}]`, one);
    const name = isRecord(one) && isText(one["name"]) ? one["name"] : "";
    if (names.has(name)) throw invalidOption(`middleware[${index}].name`, "a name that no other middleware uses", name);
    names.add(name);
  }
  checkOrder(listMiddleware(middleware as MiddlewareList));
}

/** Rejects an order in which one middleware would undo or miss what another does. */
function checkOrder(middleware: readonly Middleware[]): void {
  for (const [index, { name, after = [] }] of middleware.entries()) {
    const late = middleware.slice(index + 1).find((one) => after.includes(one.name));
    if (late === undefined) continue;
    const [expected, received] = [
      `an array with "${late.name}" before "${name}"`,
      `an array with "${name}" before "${late.name}"`,
    ];
    throw new LoopError("invalid-option", { option: "middleware", expected, received });
  }
}

/** Throws if a field's name looks like a misspelled hook. Other extra fields are allowed. */
function checkKnown(option: string, one: unknown): void {
  if (!isRecord(one)) throw invalidOption(option, "middleware: an object with a name and hooks", one);
  const near = (name: string): readonly string[] => knownNames.filter(({ length }) => Math.abs(length - name.length) < 3);
  const own = (name: string): boolean =>
    !Object.hasOwn(middlewareChecks, name) && edges.nearestName?.(name, near(name)) === undefined;
  checkFields(option, Object.fromEntries(Object.entries(one).filter(([name]) => !own(name))), middlewareChecks);
}

const knownNames: readonly string[] = /* @__PURE__ */ table(() => Object.keys(middlewareChecks));

/** Checks the hooks that a middleware's `begin` returns. */
export function checkHooks(name: string, hooks: unknown): void {
  checkFields(`middleware "${name}".begin()`, hooks, hookChecks);
}

const reserved = { tokens: "maxTokens", costUSD: "maxCostUSD", ms: "wallClockMs" } as const;

/** Throws LoopError "invalid-option" if a reserve has no limit, or is not less than its limit. */
function checkReserves(middleware: readonly Middleware[], limits: ResolvedLimits): void {
  for (const { name, reserve } of middleware) {
    if (reserve === undefined) continue;
    const path = `${name}.reserve`;
    checkFields(path, reserve, reserveChecks);
    for (const [field, limit] of Object.entries(reserved) as [
      keyof typeof reserved,
      (typeof reserved)[keyof typeof reserved],
    ][]) {
      const kept = reserve[field] ?? 0;
      if (kept > 0 && (limits[limit] === none || kept >= limits[limit]))
        throw invalidOption(`${path}.${field}`, `less than "limits.${limit}", which must be set`, kept);
    }
  }
}
