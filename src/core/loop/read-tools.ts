// Reads the registry's tools before a request, and tells whether a tool is still the one that the model was shown.

import type { ToolDefinition } from "../types/tool.ts";
import { byName, findTool, isSameTool } from "../tools/registry.ts";
import { HookError } from "./hooks.ts";
import { refuseNeeding, type Run } from "./run.ts";

/** Reads the registry's tools before a request. */
export function readTools(run: Run): readonly ToolDefinition[] {
  try {
    const definitions = run.registry.definitions();
    if (definitions === run.definitions) return definitions;
    run.definitions = definitions;
    run.registered = byName(definitions);
    refuseNeeding(run);
    return definitions;
  } catch (error) {
    throw new HookError("tools.definitions", error);
  }
}

/** True if the tool in the registry is still the one that was shown. */
export function isCurrent({ registry }: Run, definition: ToolDefinition): boolean {
  const now = findTool(registry, definition.name);
  return now !== undefined && isSameTool(now, definition);
}
