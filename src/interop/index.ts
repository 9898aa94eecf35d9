// The entry `turnwright/interop`: tools of other libraries. The functions for tools that every run needs are in src/core/tools.

export { importTool, type ImportOverrides, importTools } from "./import-tool.ts";
