import { defineTool, type Tool, type ToolRegistry } from "turnwright";
import { fromJsonSchema, withValidation } from "turnwright/json-schema";

export const clock: Tool<{ zone: string }> = defineTool({
  name: "get_time",
  description: "Time of day in a time zone",
  inputSchema: fromJsonSchema<{ zone: string }>({ type: "object", properties: { zone: { type: "string" } } }),
  execute: ({ zone }) => new Date(0).toLocaleTimeString("en", { timeZone: zone }),
});

export function check(tools: ToolRegistry): ToolRegistry {
  return withValidation(tools);
}
