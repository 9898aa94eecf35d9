export { importTool, importTools } from "./import-tool.ts";
