export { type ToolSearchOptions, withToolSearch } from "./with-tool-search.ts";
