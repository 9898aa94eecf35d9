// Checks the caller's options before any request: unknown names, wrong types, limits that are out of range, and options that need others.

import type { LoopOptions } from "../../types/loop-options.ts";
import { type Check, checkFields, is, isText, refuseOption } from "../../errors/check-fields.ts";
import { invalidOption, LoopError } from "../../errors/loop-error.ts";
import { handoffKey } from "../../tools/registry.ts";
import type { Middleware } from "../../types/middleware.ts";
import { isRecord } from "../../utils/guards.ts";
import { none } from "../run/limits.ts";
import { optionChecks } from "../run/option-table.ts";

const handoffsNeeded: Check = ['a list with the agents if "tools" has tools of createHandoffs', is.any[1], "handoffs"];

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

/**
 * Throws if the array `tools` lacks a tool that a policy or `toolChoice` needs. A registry is not checked, because it may add the
 * tool later. `place` is the place of the options in other options, such as "members.researcher.".
 */
export function checkNeededTools(
  options: Pick<LoopOptions, "tools" | "policies" | "middleware" | "toolChoice">,
  place = "",
): void {
  const { tools = [], policies: { handoffs } = {}, middleware = [], toolChoice } = options;
  if (!Array.isArray(tools)) return;
  const all = [handoffs, ...middleware].filter((one) => isRecord(one)) as readonly Middleware[];
  if (tools.some(isHandoff) && !all.some(({ name }) => name === "handoffs"))
    throw refuseOption(`${place}middleware`, handoffsNeeded, undefined);
  const names: ReadonlySet<unknown> = new Set([...tools, ...all.flatMap((one) => one.tools ?? [])].map(nameOf));
  if (typeof toolChoice === "object" && !names.has(toolChoice.name))
    throw invalidOption(`${place}toolChoice.name`, 'the name of a tool in "tools"', toolChoice.name);
}

function nameOf(tool: unknown): unknown {
  return isRecord(tool) ? tool["name"] : undefined;
}

function isHandoff(tool: unknown): boolean {
  return isRecord(tool) && handoffKey in tool;
}
