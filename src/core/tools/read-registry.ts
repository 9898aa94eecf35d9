// Reads a registry that the caller has made.

import type { ToolRegistry } from "../types/loop-options.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { invalidOption } from "../errors/check-fields.ts";
import { isRecord } from "../utils/guards.ts";
import { dropPromise } from "../utils/promises.ts";

/**
 * Wraps a registry, and checks the tools that it returns. The method `definitions` throws LoopError "invalid-option".
 */
export function readRegistry(registry: ToolRegistry): ToolRegistry {
  let checked: unknown;
  const definitions = (): readonly ToolDefinition[] => {
    const given: unknown = registry.definitions();
    // The same array again means that the tools have not changed.
    if ((checked === undefined || given !== checked) && !isTools(given)) {
      dropPromise(given);
      throw invalidOption("tools.definitions()", "an array of tools, not a promise", given);
    }
    checked = given;
    return given as readonly ToolDefinition[];
  };
  return {
    definitions,
    executeTool: (name, args, context) => registry.executeTool(name, args, context),
    ...(registry.validate === undefined ? {} : { validate: registry.validate.bind(registry) }),
    ...(registry.validateResult === undefined ? {} : { validateResult: registry.validateResult.bind(registry) }),
  };
}

function isTools(value: unknown): boolean {
  return Array.isArray(value) && value.every((tool) => isRecord(tool) && typeof tool["name"] === "string");
}
