// The entry `turnwright/interop`: tools that were written for other libraries, and registries put together. What every run needs of tools
// is in src/tools.

export { importTool, type ImportOverrides, importTools } from "./import-tool.ts";
