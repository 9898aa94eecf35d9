// Imports tools of other libraries.

import { mergeRegistries, type ToolRegistry, withFilter, withPrefix } from "turnwright";
import { importTool, type ImportOverrides } from "turnwright/interop";

/** Merges an imported tool with a filtered and prefixed view of the same tool. */
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
