import type { Message } from "./message.ts";
import type { ModelSettings, Provider, ToolChoice } from "./provider.ts";
import type { ToolDefinition } from "./tool.ts";
import type { ToolCall } from "./tool-outcome.ts";
import type { Usage } from "./usage.ts";

/** Called at fixed points of a run. One that throws or takes longer than `hookMs` ends the run as `hook-failed`. */
export interface LoopHooks {
  /** Before each model stream, resends included; may change what is sent. */
  prepareIteration?(view: IterationView): IterationPlan | undefined | void | PromiseLike<IterationPlan | undefined | void>;
  /** After each batch, with the number of finished iterations. */
  onIteration?(
    iteration: number,
    state: IterationState,
  ): IterationAnswer | undefined | void | PromiseLike<IterationAnswer | undefined | void>;
}

/** What is about to be sent. */
export interface IterationView {
  readonly iteration: number;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly system: string | undefined;
  readonly modelSettings: ModelSettings | undefined;
  readonly toolChoice: ToolChoice | undefined;
  readonly usage: Usage;
}

/** What to change for this iteration only. */
export interface IterationPlan {
  readonly provider?: Provider | undefined;
  readonly modelSettings?: ModelSettings | undefined;
  /** Names of the tools to expose; names that are not there are ignored. */
  readonly tools?: readonly string[] | undefined;
  /** Not heeded where no tool may run any more. */
  readonly toolChoice?: ToolChoice | undefined;
  readonly system?: string | undefined;
}

/** Where a run stands after a batch. */
export interface IterationState {
  /** Number of finished iterations, as the first argument: 1 after the first one. */
  readonly iteration: number;
  /** USD so far; undefined where unknown. */
  readonly cumulativeCost: number | undefined;
  readonly messageCount: number;
  readonly lastToolCalls: readonly ToolCall[];
}

/** Ends the run as `iteration-abort`. */
export interface IterationAnswer {
  readonly abort: true;
  readonly reason?: string | undefined;
}
