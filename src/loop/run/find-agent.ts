// Which calls are runs of their own.

import type { Agent, ToolRegistry } from "../../contract/loop-options.ts";

/** How the calls of a tool become runs. A registry of the caller's own that fails here has no agent of that name. */
export function findAgent(registry: ToolRegistry, name: string): Agent | undefined {
  try {
    return registry.agentOf?.(name);
  } catch {
    return undefined;
  }
}
