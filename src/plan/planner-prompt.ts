// The prompt of the planner. The option `prompt` replaces or wraps it.

import type { Json, Message, ToolDefinition } from "../core/entry-kit.ts";
import type { PlanRounds } from "./plan-record.ts";

/** The state of a run for a planner. */
export interface PlannerInput extends PlanRounds {
  /** The user's request in this run, as text. */
  readonly userInput: string;
  readonly extraRequirement?: string | undefined;
  readonly availableTools: readonly ToolDefinition[];
  readonly maxRounds: number;
  /** The system text of the run. */
  readonly system?: string | undefined;
  /** The conversation without the calls of this run, which are in `donePlans`. Read-only. */
  readonly conversation: readonly Message[];
}

/** The second argument of a planning function. */
export interface PlannerPorts {
  /** Fires when the iteration is cancelled. */
  readonly signal: AbortSignal;
  /** Reports that the function is still working. Without it, it must return within `timeouts.firstChunkMs`. */
  heartbeat(): void;
}

/** Plans one round. */
export type Planner = (input: PlannerInput, ports: PlannerPorts) => PlannerAnswer | PromiseLike<PlannerAnswer>;

/** A plan in any of its forms. A plan without commands requests the answer. */
export interface PlannerAnswer {
  /** "execute" or "response". Default: depends on whether there are commands. */
  readonly next_action?: string | undefined;
  readonly execution_commands?: readonly PlannerCommand[] | undefined;
  /** Used if `execution_commands` is empty. */
  readonly tool_commands?: readonly PlannerCommand[] | undefined;
  /** Used if both lists are empty. */
  readonly tool_command?: PlannerCommand | undefined;
  /** Set to `false` to run nothing. */
  readonly use_tool?: boolean | undefined;
}

/** A call in the plan of a planning function. */
export interface PlannerCommand {
  readonly tool_name: string;
  /** Default {}. */
  readonly tool_kwargs?: { readonly [name: string]: Json | undefined } | undefined;
  readonly purpose?: string | undefined;
  readonly todo_suggestion?: string | undefined;
  readonly next?: string | undefined;
}

/** The two texts that make the model plan. */
export interface PlannerPrompt {
  /** The model's role and the format of its answer. Added after the system text of the run. */
  readonly system: string;
  /** The task. Added after the conversation, as a message of the user. */
  readonly user: string;
}

const system = `You plan the next step of a task. You do not answer the user now.

Answer with one JSON object and nothing else:
{
  "next_action": "execute",
  "execution_commands": [
    {
      "purpose": what the call is to find out or to do, in a few words,
      "tool_name": the name of one of the available tools,
      "tool_kwargs": an object of arguments that fits its input_schema,
      "todo_suggestion": what is left to do when the call has succeeded
    }
  ]
}

Write "next_action" first; it is "execute" or "response".
- "execute" where tools have to run before the user can be answered. All commands of one plan run at the same time: what needs the result of
  another command belongs into a later plan.
- "response" where the user can be answered, with an empty list of commands.
- done_plans holds all that has run, last_round_records what the plan before this one has run. Do not repeat what has succeeded. Where a
  command failed, read its error and change what was wrong, or go on without it.
- Tools that are not in available_tools do not exist.`;

/** The default prompt of `withPlanner`: a system text with instructions for planning, and the state of the task as JSON. */
export function plannerPrompt(input: PlannerInput): PlannerPrompt {
  const state = {
    user_input: input.userInput,
    ...(input.extraRequirement === undefined ? {} : { user_extra_requirement: input.extraRequirement }),
    available_tools: input.availableTools.map(({ name, description, inputSchema }) => ({
      tool_name: name,
      description,
      input_schema: inputSchema,
    })),
    done_plans: input.donePlans,
    last_round_records: input.lastRoundRecords,
    round_index: input.roundIndex,
    max_rounds: input.maxRounds,
  };
  return { system, user: JSON.stringify(state, undefined, 2) };
}
