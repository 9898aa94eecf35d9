export { type AgentHandoffs, type AgentOptions, createHandoffs, type HandoffOptions } from "./create-handoffs.ts";
export { type HistoryFilter, withoutToolCalls } from "./filter-history.ts";
