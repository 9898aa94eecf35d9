// Records the tools shown to the model, so that a resumed run can tell which calls were made to a tool that has since changed.

import type { ShownTool } from "../types/tool-outcome.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { byName, findTool, isSameTool, toShown } from "../tools/registry.ts";
import { stableJson } from "../../shared/json.ts";
import { HookError } from "./hooks.ts";
import type { Run } from "./run.ts";
import type { Answer } from "../types/middleware.ts";

export interface ShownTools {
  readonly [name: string]: ShownTool;
}

/** Returns the tool descriptions for the first record. */
export function describeTools(registered: Run["registered"]): ShownTools {
  return Object.fromEntries([...registered].map(([name, tool]) => [name, toShown(tool)]));
}

/** Reads the registry's tools before a request. */
export function readTools(run: Run): readonly ToolDefinition[] {
  try {
    const definitions = run.registry.definitions();
    if (definitions === run.definitions) return definitions;
    run.definitions = definitions;
    run.registered = byName(definitions);
    return definitions;
  } catch (error) {
    throw new HookError("tools.definitions", error);
  }
}

/** Adds the called tools that have changed since the first record. */
export function withShown(run: Run, answer: Answer): Answer {
  if (answer.calls.length === 0) return answer;
  const later = answer.calls.flatMap(({ name }) => {
    const tool = run.shown.get(name);
    if (tool === undefined || tool === run.described.get(name)) return [];
    const shown = toShown(tool);
    return isSame(findOwn(run.first?.tools, name), shown) ? [] : [[name, shown] as const];
  });
  return later.length === 0 ? answer : { ...answer, shownTools: Object.fromEntries(later) };
}

function isSame(first: ShownTool | undefined, shown: ShownTool): boolean {
  return first === shown || (first !== undefined && stableJson(first) === stableJson(shown));
}

export function findOwn(tools: ShownTools | undefined, name: string): ShownTool | undefined {
  return tools !== undefined && Object.hasOwn(tools, name) ? tools[name] : undefined;
}

/** True if the tool in the registry is still the one that was shown. */
export function isCurrent({ registry }: Run, definition: ToolDefinition): boolean {
  const now = findTool(registry, definition.name);
  return now !== undefined && isSameTool(now, definition);
}
