export { planLogs, type PlanRecord, type PlanRounds } from "./plan-record.ts";
export type { Planner, PlannerAnswer, PlannerCommand, PlannerInput, PlannerPorts } from "./planner-prompt.ts";
export { plannerPrompt, type PlannerPrompt } from "./planner-prompt.ts";
export { type ExecutedCommand, executePlans, type PlanExecutor, type PlanExecutorContext } from "./execute-plans.ts";
export type { PlanCommand, PlanDecision } from "./read-decision.ts";
export { type PlannerOptions, withPlanner } from "./with-planner.ts";
