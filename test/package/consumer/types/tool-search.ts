import type { Tool, ToolRegistry } from "turnwright";
import { type ToolSearchOptions, withToolSearch } from "turnwright/middleware";

export const options: ToolSearchOptions = { defer: ({ name }) => name !== "look", maxResults: 3, maxTokens: 900 };

export function searchable(tools: readonly Tool[]): ToolRegistry {
  return withToolSearch(tools, options);
}
