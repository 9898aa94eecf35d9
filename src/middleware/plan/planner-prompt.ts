import type { Json, Message, ToolDefinition } from "../../core/index.ts";
import type { PlanRounds } from "./plan-record.ts";

/** A planner's input: the state of the run so far. */
export interface PlannerInput extends PlanRounds {
  /** The user's request in this run, as text. */
  readonly userInput: string;
  readonly extraRequirement?: string | undefined;
  readonly availableTools: readonly ToolDefinition[];
  readonly maxRounds: number;
  /** The run's system text. */
  readonly system?: string | undefined;
  /** The conversation, read-only. Does not contain the calls from this run, which are in `donePlans`. */
  readonly conversation: readonly Message[];
}

/** The second argument of a planning function, with the iteration's signal and heartbeat. */
export interface PlannerPorts {
  /** Aborted when the iteration is canceled. */
  readonly signal: AbortSignal;
  /**
   * Reports that the function is still working. A function that never calls `heartbeat` must return within `timeouts.firstChunkMs`.
   */
  heartbeat(): void;
}

/** A function that makes the plan for one round. */
export type Planner = (input: PlannerInput, ports: PlannerPorts) => PlannerAnswer | PromiseLike<PlannerAnswer>;

/** A plan in any supported form. If it has no commands, the answer is requested. */
export interface PlannerAnswer {
  /** "execute" or "response". Default: "execute" if there are commands, otherwise "response". */
  readonly next_action?: string | undefined;
  readonly execution_commands?: readonly PlannerCommand[] | undefined;
  /** Another name for `execution_commands`. Used if `execution_commands` is empty. */
  readonly tool_commands?: readonly PlannerCommand[] | undefined;
  /** A single command. Used if `execution_commands` and `tool_commands` are empty. */
  readonly tool_command?: PlannerCommand | undefined;
  /** Set to `false` to run no tools. */
  readonly use_tool?: boolean | undefined;
}

/** A tool call in a plan that a planning function returns. */
export interface PlannerCommand {
  readonly tool_name: string;
  /** The tool's arguments. Default {}. */
  readonly tool_kwargs?: { readonly [name: string]: Json | undefined } | undefined;
  readonly purpose?: string | undefined;
  readonly todo_suggestion?: string | undefined;
  readonly next?: string | undefined;
}

/** The two prompts that ask the model for a plan. */
export interface PlannerPrompt {
  /** The model's role and the format of its answer. Added after the run's system text. */
  readonly system: string;
  /** The task. Added after the conversation, as a user message. */
  readonly user: string;
}

const system = `You plan the next step of a task. Do not answer the user now.

Answer with one JSON object and nothing else:
{
  "next_action": "execute",
  "execution_commands": [
    {
      "purpose": what the call should find out or do, in a few words,
      "tool_name": the name of one of the available tools,
      "tool_kwargs": an object with arguments that match the tool's input_schema,
      "todo_suggestion": what remains to be done after the call has succeeded
    }
  ]
}

Write "next_action" first. Its value is "execute" or "response".
- Use "execute" if tools must run before you can answer the user. All commands in one plan run at the same time. If a command needs the
  result of another command, put the dependent command into a later plan.
- Use "response", with an empty list of commands, if the user can be answered now.
- done_plans lists all commands that have run in this task. last_round_records lists the commands of the previous plan. Do not repeat a
  command that succeeded. If a command failed, read its error and correct the command, or continue without it.
- Use only tools from available_tools. No other tools exist.`;

/** Returns the default prompt for `withPlanner`: a system text with instructions for planning, and the state of the task as JSON. */
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
