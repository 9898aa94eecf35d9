import { mergeRegistries, type ToolRegistry, withFilter, withPrefix } from "turnwright";
import { importTool } from "turnwright/interop";

export function merge(foreign: object, overrides: Parameters<typeof importTool>[1]): ToolRegistry {
  const tool = importTool(foreign, { ...overrides, timeoutMs: 1_000 });
  return mergeRegistries(
    [tool],
    withPrefix(
      withFilter([tool], ({ name }) => name !== "delete"),
      "crm_",
    ),
  );
}
