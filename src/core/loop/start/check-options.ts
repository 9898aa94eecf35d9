// Checks the caller's options before any request: unknown names, wrong types, limits that are out of range, and options that need others.

import type { IterationPlan, LoopOptions } from "../../types/loop-options.ts";
import { type Check, checkFields, invalidOption, is, isText, refuseOption } from "../../errors/check-fields.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { handoffKey } from "../../tools/registry.ts";
import { isRecord } from "../../utils/guards.ts";
import { none, optionChecks, planChecks } from "../run/option-table.ts";

const handoffsNeeded: Check = ['set if "tools" has tools of createHandoffs', is.any[1], "handoffs"];

const pricingNeeded: Check = ['a function if "limits.maxCostUSD" is set', is.any[1], "pricing"];

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
  checkFields("options", options, optionChecks);
  const { provider, limits: { maxCostUSD = none } = {}, pricing, journal, runId } = options as LoopOptions;
  if (provider.family !== undefined && !isText(provider.family))
    throw invalidOption("provider.family", "a string", provider.family);
  // Without `pricing`, the limit would never be reached.
  if (maxCostUSD !== none && pricing === undefined) throw refuseOption("pricing", pricingNeeded, pricing);
  // A run with a random id could never be resumed.
  if (journal?.durable === true && runId === undefined)
    throw invalidOption("runId", 'a string if "journal.durable" is true', runId);
  checkNeededTools(options as LoopOptions);
}

export function checkPlan(plan: unknown): asserts plan is IterationPlan {
  checkFields("prepareIteration", plan, planChecks);
}

/**
 * Throws if the array `tools` lacks a tool that a policy or `toolChoice` needs. A registry is not checked, because it may add the
 * tool later. `place` is the place of the options in other options, such as "members.researcher.".
 */
export function checkNeededTools(options: Pick<LoopOptions, "tools" | "policies" | "toolChoice">, place = ""): void {
  const { tools = [], policies: { handoffs, results } = {}, toolChoice } = options;
  if (!Array.isArray(tools)) return;
  if (handoffs === undefined && tools.some(isHandoff)) throw refuseOption(`${place}policies.handoffs`, handoffsNeeded, undefined);
  const names: ReadonlySet<unknown> = new Set(tools.map(nameOf));
  (handoffs as NeededTools | undefined)?.checkTools(names, `${place}tools`);
  if (typeof toolChoice === "object" && !names.has(toolChoice.name))
    throw invalidOption(`${place}toolChoice.name`, 'the name of a tool in "tools"', toolChoice.name);
  checkNamed(names, results?.toolName, `${place}tools`);
}

function checkNamed(names: ReadonlySet<unknown>, toolName: string | undefined, option: string): void {
  if (toolName !== undefined && !names.has(toolName))
    throw refuseTools(option, toolName, 'the texts from "policies.results.cacher" mention this tool');
}

function nameOf(tool: unknown): unknown {
  return isRecord(tool) ? tool["name"] : undefined;
}

function isHandoff(tool: unknown): boolean {
  return isRecord(tool) && handoffKey in tool;
}

export function refuseTools(option: string, missing: string, why: string): LoopError<"invalid-option"> {
  const expected = `an array with the tool "${missing}" (${why})`;
  return new LoopError("invalid-option", { option, expected, received: "an array without this tool" });
}

/** A policy that needs some tools of the run. */
interface NeededTools {
  checkTools(names: ReadonlySet<unknown>, option: string): void;
}
