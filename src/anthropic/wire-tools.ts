import { memoize, type ToolDefinition, toObjectSchema, type UnknownRecord } from "../core/provider-kit.ts";
import type { MessagesSettings } from "./messages-options.ts";
import type { Accepted } from "./refused-blocks.ts";

/** Puts the search tool at the end. The final tool may get a cache mark, and the service rejects a mark on a deferred tool. */
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
  input_schema: toObjectSchema(inputSchema),
}));

const toDeferredTool = memoize((tool: ToolDefinition): object => ({ ...toWireTool(tool), defer_loading: true }));

/** The names in calls of server tools are not always those of the declared tools, for example in code execution. */
export function findDeclared(tools: readonly object[], extra: UnknownRecord): Pick<Accepted, "declares" | "hasTool"> {
  const names = tools.map((tool) => ("name" in tool ? tool.name : undefined));
  const types = tools.flatMap((tool) => ("type" in tool ? String(tool.type) : []));
  const isOpen = extra["tools"] !== undefined || extra["mcp_servers"] !== undefined;
  const searches = isOpen || types.some((type) => type.startsWith("tool_search"));
  return {
    declares: (name) => (name.startsWith("tool_search") ? searches : isOpen || types.length > 0),
    hasTool: (name) => isOpen || names.includes(name),
  };
}
