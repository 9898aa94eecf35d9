import type { ToolDefinition } from "../contract/tool.ts";
import type { PlanRounds } from "./plan-record.ts";

/** What a planner sees of a run. */
export interface PlannerInput extends PlanRounds {
  /** What the user asked for in this run, in words. */
  readonly userInput: string;
  readonly extraRequirement?: string | undefined;
  readonly availableTools: readonly ToolDefinition[];
  readonly maxRounds: number;
}

/** What a planning function may use. */
export interface PlannerPorts {
  /** Fires when the pass is cut. */
  readonly signal: AbortSignal;
  /** Says that it still works: else it must answer within `timeouts.firstChunkMs`. */
  heartbeat(): void;
}

/** Plans one round. Its answer is read as a model's is: any of the compatible forms will do. */
export type Planner = (input: PlannerInput, ports: PlannerPorts) => unknown;
