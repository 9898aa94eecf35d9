// Checks what a registry answers: it may be code of others, without types.

import type { ToolRegistry } from "../../types/loop-options.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import { invalidOption } from "../../errors/check-fields.ts";
import { dropPromise } from "../../utils/drop-promise.ts";
import { isRecord } from "../../utils/is-record.ts";
import { findAgent } from "../../tools/find-tool.ts";

/** A registry that gives tools and agents only. `definitions` throws LoopError "invalid-option" for anything else. */
export function readRegistry(registry: ToolRegistry): ToolRegistry {
  let checked: unknown;
  const definitions = (): readonly ToolDefinition[] => {
    const given: unknown = registry.definitions();
    // The same array means that nothing has changed.
    if ((checked === undefined || given !== checked) && !isTools(given)) {
      dropPromise(given);
      throw invalidOption("tools.definitions()", "an array of tools, and no promise", given);
    }
    checked = given;
    return given as readonly ToolDefinition[];
  };
  return {
    definitions,
    executeTool: (name, args, context) => registry.executeTool(name, args, context),
    ...(registry.validate === undefined ? {} : { validate: registry.validate.bind(registry) }),
    ...(registry.agentOf === undefined ? {} : { agentOf: (name) => findAgent(registry, name) }),
  };
}

function isTools(value: unknown): boolean {
  try {
    return Array.isArray(value) && value.every((tool) => isRecord(tool) && typeof tool["name"] === "string");
  } catch {
    return false;
  }
}
