// Tools from elsewhere, and registries put together.

import type { ToolRegistry } from "turnwright";
import { importTool, type ImportOverrides, mergeRegistries, withFilter, withPrefix } from "turnwright/tools";

/** One tool, twice. */
export function merge(foreign: object, overrides: ImportOverrides): ToolRegistry {
  const tool = importTool(foreign, { ...overrides, timeoutMs: 1_000 });
  return mergeRegistries(
    [tool],
    withPrefix(
      withFilter([tool], ({ name }) => name !== "delete"),
      "crm_",
    ),
  );
}
