// Looks into a registry, which may be code of others.

import type { Agent, ToolRegistry } from "../types/loop-options.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { dropPromise } from "../utils/drop-promise.ts";
import { isRecord } from "../utils/is-record.ts";

/** The tool of this name, as it is now. A registry that fails here has no tool. */
export function findTool(registry: ToolRegistry, name: string): ToolDefinition | undefined {
  try {
    return registry.definitions().find((tool) => tool.name === name);
  } catch {
    return undefined;
  }
}

/** How the calls of a tool become runs. A registry that fails here has no agent, so that its tools run as tools. */
export function findAgent(registry: ToolRegistry, name: string): Agent | undefined {
  try {
    const agent: unknown = registry.agentOf?.(name);
    if (isRecord(agent) && typeof agent["prepare"] === "function" && typeof agent["toResult"] === "function")
      return agent as unknown as Agent;
    dropPromise(agent);
  } catch {
    // As above.
  }
  return undefined;
}
