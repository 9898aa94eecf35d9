// Checks the options of a run before any request: unknown names, wrong types, and options that need others.

import { type Check, checkFields, type Checks, is, isText, needed, refuseOption } from "../errors/check-fields.ts";
import { invalidOption } from "../errors/loop-error.ts";
import { optionChecks, reserveChecks } from "../loop/run/option-table.ts";
import { none, type Reserve, type ResolvedLimits, resolveLimits, sumReserves } from "../loop/run/limits.ts";
import type { LoopLimits } from "../types/loop-options.ts";
import { edges } from "../utils/edges.ts";
import { isRecord } from "../utils/guards.ts";
import { isPlainData } from "../utils/json.ts";
import type { Hooks, Middleware } from "./seam.ts";

const hookChecks: Checks<Hooks> = {
  tools: ["an array of tools", Array.isArray],
  provider: is.fn,
  request: is.fn,
  call: is.fn,
  execute: is.fn,
  ends: is.fn,
  afterCalls: is.fn,
  beforeEnd: is.fn,
  on: is.fn,
  result: is.fn,
};

const middlewareChecks: Checks<Middleware> = {
  ...hookChecks,
  name: /* @__PURE__ */ needed(is.name),
  pure: false,
  reserve: ["an object", isRecord],
  begin: is.fn,
};

const pricingNeeded: Check = ['a function if "limits.maxCostUSD" is set', is.any[1], "pricing"];

type Fields = Parameters<typeof checkFields>[2];

let table: Fields | undefined;

/** The options of today's loop, without those that become middleware. */
function fieldsOfRuns(): Fields {
  const { policies: _policies, hooks: _hooks, decisions: _decisions, contextItems: _items, ...shared } = optionChecks;
  return {
    ...shared,
    middleware: ["an array of middleware", Array.isArray],
    answers: { "*": ["plain data", isPlainData] },
    allowToolChange: is.fn,
    now: { min: 0, fraction: true, infinite: false },
    journal: ["a journal", isJournal, "journal"],
  };
}

/** Throws LoopError "unknown-option" or "invalid-option". */
export function checkRunOptions(options: unknown): void {
  table ??= fieldsOfRuns();
  checkFields("options", options, table);
  if (!isRecord(options)) return;
  const { limits, pricing, journal, runId, middleware = [] } = options;
  const isCapped = isRecord(limits) && (limits["maxCostUSD"] ?? none) !== none;
  // Without `pricing`, the limit would never be reached.
  if (isCapped && pricing === undefined) throw refuseOption("pricing", pricingNeeded, pricing);
  // A run with a random id could never be resumed.
  if (isRecord(journal) && journal["durable"] === true && runId === undefined)
    throw invalidOption("runId", 'a string if "journal.durable" is true', runId);
  if (!Array.isArray(middleware)) return;
  checkMiddleware(middleware);
  checkReserves(middleware as Middleware[], resolveLimits(limits as LoopLimits));
}

function isJournal(value: unknown): boolean {
  return isRecord(value) && ["step", "read"].every((name) => typeof value[name] === "function");
}

/** Records name the middleware that made them, so two middleware must not have the same name. */
function checkMiddleware(middleware: readonly unknown[]): void {
  const names = new Set<unknown>();
  for (const [index, one] of middleware.entries()) {
    checkKnown(`middleware[${index}]`, one);
    const name = isRecord(one) && isText(one["name"]) ? one["name"] : "";
    if (names.has(name)) throw invalidOption(`middleware[${index}].name`, `a name other than "${name}", which is in use`, name);
    names.add(name);
  }
}

/** Middleware may have fields of its own, but not a misspelt hook. */
function checkKnown(option: string, one: unknown): void {
  if (!isRecord(one)) throw invalidOption(option, "middleware: an object with a name and hooks", one);
  const near = (name: string): readonly string[] => knownNames.filter(({ length }) => Math.abs(length - name.length) < 3);
  const own = (name: string): boolean =>
    !Object.hasOwn(middlewareChecks, name) && edges.nearestName?.(name, near(name)) === undefined;
  checkFields(option, Object.fromEntries(Object.entries(one).filter(([name]) => !own(name))), middlewareChecks);
}

const knownNames: readonly string[] = Object.keys(middlewareChecks);

/** Checks the hooks that `begin` of a middleware returns. */
export function checkHooks(name: string, hooks: unknown): void {
  checkFields(`middleware "${name}".begin()`, hooks, hookChecks);
}

const reserved = { tokens: "maxTokens", costUSD: "maxCostUSD", ms: "wallClockMs" } as const;

/** Throws LoopError "invalid-option" if the limit of a reserve is not set, or if a reserve is not less than its limit. */
function checkReserves(middleware: readonly Middleware[], limits: ResolvedLimits): void {
  for (const [index, { name, reserve }] of middleware.entries()) {
    if (reserve === undefined) continue;
    const path = `${name}.reserve`;
    checkFields(path, reserve, reserveChecks);
    const whole = sumReserves(middleware.slice(0, index + 1));
    for (const [field, limit] of Object.entries(reserved) as [keyof Reserve, (typeof reserved)[keyof Reserve]][])
      if (whole[field] > 0 && (limits[limit] === none || whole[field] >= limits[limit]))
        throw invalidOption(`${path}.${field}`, `less than "limits.${limit}", which must be set`, whole[field]);
  }
}
