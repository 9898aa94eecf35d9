// Writes the tools of a request, and the tool with which the service searches deferred tools.

import { memoize, type ToolDefinition } from "../core/provider-kit.ts";
import type { MessagesSettings } from "./messages-options.ts";

/**
 * Returns the tools of the run, then the tools that the server runs. The search tool is the last one, because a cache mark must not
 * be on a deferred tool.
 */
export function toWireTools(
  tools: readonly ToolDefinition[],
  { serverTools, toolSearch }: Pick<MessagesSettings, "serverTools" | "toolSearch">,
): readonly object[] {
  if (toolSearch === undefined || !tools.some(isDeferred)) return [...tools.map(toWireTool), ...serverTools];
  const wire = tools.map((tool) => (isDeferred(tool) ? toDeferredTool(tool) : toWireTool(tool)));
  return [...wire, ...serverTools, { type: `tool_search_tool_${toolSearch}_20251119`, name: `tool_search_tool_${toolSearch}` }];
}

function isDeferred({ deferred }: ToolDefinition): boolean {
  return deferred === true;
}

const toWireTool = memoize(({ name, description, inputSchema }: ToolDefinition): object => ({
  name,
  description,
  input_schema: inputSchema,
}));

const toDeferredTool = memoize((tool: ToolDefinition): object => ({ ...toWireTool(tool), defer_loading: true }));
