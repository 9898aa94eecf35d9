export { importTool, type ImportOverrides, importTools } from "./import-tool.ts";
