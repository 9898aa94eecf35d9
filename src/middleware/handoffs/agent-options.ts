// The options of one agent of a run.

import type { ModelSettings, Provider, Session, Tool, ToolChoice } from "../../core/index.ts";
import type { HistoryFilter } from "./filter-history.ts";

/** Facts about the run, for the system prompt of an agent. `Context` is the type of the run's option `context`. */
export interface AgentFacts<Context = unknown> {
  /** The value of the run's option `context`. */
  readonly context: Context;
  readonly session: Session;
}

/** A function that writes the system prompt of an agent for each request. */
export type AgentSystem = {
  // This is a method, because method parameters are bivariant: a function may annotate the context that it needs.
  write(facts: AgentFacts): string;
}["write"];

/** One agent of a run. */
export interface AgentOptions {
  /** Describes the tasks of this agent. The other agents read this description to decide when to hand over. */
  readonly description: string;
  /**
   * The system prompt, or a function that returns the system prompt for each request. If the function throws, the run ends as
   * `hook-failed`. If the function annotates its argument as `AgentFacts<App>`, the run needs the option `context` of the type `App`.
   * Default: the option `system` of the run.
   */
  readonly system?: string | AgentSystem | undefined;
  /**
   * The tools of the agent. A string is the name of a tool in the option `tools` of the run, for example from a registry. The agent
   * also has the tools of the run that no agent lists. Default: none.
   */
  readonly tools?: readonly (Tool | string)[] | undefined;
  /** The names of the agents to which this agent may hand over. Default: none. */
  readonly handoffs?: readonly string[] | undefined;
  /** The provider of the agent. Default: the option `provider` of the run. */
  readonly provider?: Provider | undefined;
  /** The model settings of the agent. Default: the option `modelSettings` of the run. */
  readonly modelSettings?: ModelSettings | undefined;
  /** Limits which tools the agent may call. Default: the option `toolChoice` of the run. */
  readonly toolChoice?: ToolChoice | undefined;
  /**
   * A filter for the messages before the handoff to this agent, for example `withoutToolCalls`. Default: the agent sees all
   * messages.
   */
  readonly history?: HistoryFilter | undefined;
}

/** The agents by name. */
export interface Agents {
  readonly [name: string]: AgentOptions;
}
