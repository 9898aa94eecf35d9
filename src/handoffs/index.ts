export {
  type AgentFacts,
  type AgentHandoffs,
  type AgentOptions,
  type Agents,
  type AgentSystem,
  createHandoffs,
  type HandoffOptions,
  type SystemContextOf,
  type ToolsOf,
} from "./create-handoffs.ts";
export { type HistoryFilter, withoutToolCalls } from "./filter-history.ts";
export type { TransferTool } from "./transfer-tool.ts";
