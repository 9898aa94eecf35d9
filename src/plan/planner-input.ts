import type { Json, Message, ToolDefinition } from "../core/entry-kit.ts";
import type { PlanRounds } from "./plan-record.ts";

/** What a planner sees of a run. */
export interface PlannerInput extends PlanRounds {
  /** What the user asked for in this run, in words. */
  readonly userInput: string;
  readonly extraRequirement?: string | undefined;
  readonly availableTools: readonly ToolDefinition[];
  readonly maxRounds: number;
  /** The system text of the run. */
  readonly system?: string | undefined;
  /** The conversation without the calls of this run, which are in `donePlans`. Read-only. */
  readonly conversation: readonly Message[];
}

/** What a planning function may use. */
export interface PlannerPorts {
  /** Fires when the iteration is cut. */
  readonly signal: AbortSignal;
  /** Says that it still works: else it must answer within `timeouts.firstChunkMs`. */
  heartbeat(): void;
}

/** Plans one round. */
export type Planner = (input: PlannerInput, ports: PlannerPorts) => PlannerAnswer | PromiseLike<PlannerAnswer>;

/** A plan in any of its forms. One without commands asks for the answer. */
export interface PlannerAnswer {
  /** "execute" or "response"; else it is inferred from whether there are commands. */
  readonly next_action?: string | undefined;
  readonly execution_commands?: readonly PlannerCommand[] | undefined;
  /** Read where `execution_commands` has none. */
  readonly tool_commands?: readonly PlannerCommand[] | undefined;
  /** Read where neither list has one. */
  readonly tool_command?: PlannerCommand | undefined;
  /** False: nothing runs. */
  readonly use_tool?: boolean | undefined;
}

/** A call that a planning function asks for. */
export interface PlannerCommand {
  readonly tool_name: string;
  /** Default {}. */
  readonly tool_kwargs?: { readonly [name: string]: Json | undefined } | undefined;
  readonly purpose?: string | undefined;
  readonly todo_suggestion?: string | undefined;
  readonly next?: string | undefined;
}
