export type { AgentFacts, AgentOptions, Agents, AgentSystem } from "./agent-options.ts";
export {
  type AgentHandoffs,
  createHandoffs,
  type HandoffOptions,
  type Handoffs,
  type SystemContextOf,
  type ToolsOf,
} from "./create-handoffs.ts";
export { type HistoryFilter, withoutToolCalls } from "./filter-history.ts";
export type { TransferTool } from "./transfer-tool.ts";
