// The entry `turnwright/tools`: tools that were written for other libraries, and registries put together. What every run needs of tools
// is in src/tools.

export { importTool, type ImportOverrides, importTools } from "./import-tool.ts";
export { mergeRegistries } from "./merge-registries.ts";
export { type ToolFilter, withFilter } from "./with-filter.ts";
export { withPrefix } from "./with-prefix.ts";
export type { ToolSource } from "../tools/registry.ts";
