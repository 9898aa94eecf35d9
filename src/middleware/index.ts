// The `turnwright/middleware` entry point: optional features of runs. Bundles contain only the features that a program imports.

export type { CompactedMessages } from "../core/types/middleware-options.ts";
export { compactMessages, type Compaction } from "./compaction/compact-messages.ts";
export type { InputCheck, OutputCheck, ToolCheck } from "./guardrails/checks.ts";
export { guardrails } from "./guardrails/guardrails.ts";
export type { AgentFacts, AgentOptions, Agents, AgentSystem } from "./handoffs/agent-options.ts";
export {
  type AgentHandoffs,
  createHandoffs,
  type Handoffs,
  type SystemContextOf,
  type ToolsOf,
} from "./handoffs/create-handoffs.ts";
export { type HistoryFilter, withoutToolCalls } from "./handoffs/filter-history.ts";
export type { TransferTool } from "./handoffs/transfer-tool.ts";
export { createTeam, type MemberReport, type Team, type TeamMember } from "./team/create-team.ts";
export { renderTree } from "./team/render-tree.ts";
export { createRunTree, type RunNode, type RunTree } from "./team/run-tree.ts";
export { showTeam } from "./team/show-team.ts";
export { withToolSearch } from "./tool-search/with-tool-search.ts";
export type { PromptCacheWatch } from "./prompt-cache/types.ts";
export { watchPromptCache } from "./prompt-cache/watch-prompt-cache.ts";
export { createPartialOutput, type DeepPartial, type PartialOutput, partialOutputs } from "./partial-output/partial-output.ts";
export { createDeliberateMode, type DeliberateMode } from "./deliberate/deliberate-mode.ts";
export { planLogs, type PlanRecord } from "./plan/plan-record.ts";
export type { Planner } from "./plan/planner-prompt.ts";
export { plannerPrompt, type PlannerPrompt } from "./plan/planner-prompt.ts";
export { executePlans, type PlanExecutor } from "./plan/execute-plans.ts";
export { withPlanner } from "./plan/with-planner.ts";
