// The entry `turnwright/interop`: converts tools of other libraries.

export { importTool, type ImportOverrides, importTools } from "./import-tool.ts";
