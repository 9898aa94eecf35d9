import { expect, it } from "vitest";
import type { PlanRecord } from "turnwright/middleware";
import type { PlanCommand, PlanDecision } from "../../src/middleware/plan/read-decision.ts";
import type { PlannerOptions } from "../../src/middleware/plan/with-planner.ts";
import { type DesignParts, firstNames, testMapping } from "./mapped-page.ts";
import { readPage } from "./read-page.ts";

const guide = readPage("docs/guides/plan-and-execute.md");
const mapping = readPage("docs/sources/plan.md");

/** An object with every property name of `Type`. A missing or unknown name does not compile. */
type Names<Type> = { readonly [Name in keyof Required<Type>]: true };

const options: Names<PlannerOptions> = {
  maxRounds: true,
  enabled: true,
  extraRequirement: true,
  extraInstruction: true,
  prompt: true,
  planner: true,
  planRetries: true,
  closesEarly: true,
};
const record: Names<PlanRecord> = {
  purpose: true,
  tool_name: true,
  kwargs: true,
  todo_suggestion: true,
  next: true,
  success: true,
  result: true,
  error: true,
};
const decision: Names<PlanDecision> = { next_action: true, execution_commands: true };
const command: Names<Omit<PlanCommand, "next">> = { purpose: true, tool_name: true, tool_kwargs: true, todo_suggestion: true };

const parts: DesignParts = {
  "Overall flow": ["Tool.async_plan_and_execute()", "PLAN", "EXECUTE", "TriggerFlow"],
  "Round state": ["done_plans", "last_round_records", "round_index", "round_state"],
  "Planning stage": [
    ...["plan_step", "ModelRequest", "input.user_input", "input.user_extra_requirement", "input.available_tools"],
    ...["info.done_plans", "info.last_round_result", "info.round_index", "info.max_rounds"],
  ],
  "Output shape": [...Object.keys(decision), ...Object.keys(command)],
  "Compatible forms": ["tool_commands", "tool_command", "next_action"],
  "Short-circuit": ["instant", "next_action=response"],
  "Execution stage": [
    ...["execute_step", "ToolCommand", "next", "tool.loop.concurrency", "async_call_tool(tool_name, tool_kwargs)"],
    "ToolExecutionRecord",
  ],
  "Execution record": Object.keys(record),
  "Stop conditions": ['next_action != "execute"', "use_tool", "no executable commands", "max_rounds"],
  "Convergence and injection": [
    ...["done_plans", "prompt.action_results", "extra_instruction", "extra.tool_logs", "no execution record"],
  ],
};

it("docs/guides/plan-and-execute.md: lists every option once", () => {
  expect(firstNames(guide, "Planner options")).toEqual(Object.keys(options));
});

testMapping(mapping, parts);
