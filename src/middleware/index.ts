// The entry `turnwright/middleware`: optional features of runs. A bundle has only those that a program names.

export type { CompactedMessages } from "../core/kit.ts";
export { compactMessages, type Compaction, type CompactionOptions, type SummaryOptions } from "./compaction/compact-messages.ts";
export type {
  CheckContext,
  CheckedInput,
  CheckedOutput,
  CheckSpending,
  InputCheck,
  InputVerdict,
  OutputCheck,
  OutputVerdict,
  ToolCheck,
  ToolVerdict,
} from "./guardrails/checks.ts";
export { type GuardrailOptions, guardrails } from "./guardrails/guardrails.ts";
export type { AgentFacts, AgentOptions, Agents, AgentSystem } from "./handoffs/agent-options.ts";
export {
  type AgentHandoffs,
  createHandoffs,
  type HandoffOptions,
  type Handoffs,
  type SystemContextOf,
  type ToolsOf,
} from "./handoffs/create-handoffs.ts";
export { type HistoryFilter, withoutToolCalls } from "./handoffs/filter-history.ts";
export type { TransferTool } from "./handoffs/transfer-tool.ts";
export {
  createTeam,
  type MemberOptions,
  type MemberReport,
  type MemberTools,
  type Team,
  type TeamMember,
  type TeamMembers,
  type TeamOptions,
} from "./team/create-team.ts";
export { renderTree, type RenderTreeOptions } from "./team/render-tree.ts";
export { createRunTree, type RunNode, type RunTree, type RunTreeOptions } from "./team/run-tree.ts";
export { showTeam, type ShowTeamOptions, type TerminalOutput } from "./team/show-team.ts";
export { type ToolSearchOptions, withToolSearch } from "./tool-search/with-tool-search.ts";
export type { CacheBreakCause, LastRequest, PromptCacheBreak, PromptCacheUse, PromptCacheWatch } from "./prompt-cache/types.ts";
export { watchPromptCache } from "./prompt-cache/watch-prompt-cache.ts";
export { createPartialOutput, type DeepPartial, type PartialOutput, partialOutputs } from "./partial-output/partial-output.ts";
export {
  createDeliberateMode,
  type DeliberateMode,
  type DeliberateModeOptions,
  type DeliberateTurn,
  type DeliberateTurnGate,
} from "./deliberate/deliberate-mode.ts";
export type { TriggerProblem } from "./deliberate/trigger-table.ts";
export { planLogs, type PlanRecord, type PlanRounds } from "./plan/plan-record.ts";
export type { Planner, PlannerAnswer, PlannerCommand, PlannerInput, PlannerPorts } from "./plan/planner-prompt.ts";
export { plannerPrompt, type PlannerPrompt } from "./plan/planner-prompt.ts";
export { type ExecutedCommand, executePlans, type PlanExecutor, type PlanExecutorContext } from "./plan/execute-plans.ts";
export type { PlanCommand, PlanDecision } from "./plan/read-decision.ts";
export { type PlannerOptions, withPlanner } from "./plan/with-planner.ts";
