// Options for one agent in a handoff.

import type { ModelSettings, Provider, Session, Tool, ToolChoice } from "../../core/index.ts";
import type { HistoryFilter } from "./filter-history.ts";

/** Facts about the run for an agent's system prompt. `Context` is the type of the run's `context` option. */
export interface AgentFacts<Context = unknown> {
  /** The value of the run's `context` option. */
  readonly context: Context;
  readonly session: Session;
}

/** A function that writes an agent's system prompt for each request. */
export type AgentSystem = {
  // Uses a method instead of a function type, because methods are bivariant. A function may therefore declare a more specific context.
  write(facts: AgentFacts): string;
}["write"];

/** One agent in a run. */
export interface AgentOptions {
  /** Describes this agent's tasks. The other agents read this description to decide when to hand over. */
  readonly description: string;
  /**
   * The system prompt, or a function that returns the system prompt for each request. If the function throws, the run ends as
   * `hook-failed`. If the function annotates its argument as `AgentFacts<App>`, the run needs a `context` option of type `App`.
   * Default: the run's `system` option.
   */
  readonly system?: string | AgentSystem | undefined;
  /**
   * The agent's tools. A string is the name of a tool in the run's `tools` option, for example from a registry. The agent can also use all
   * of the run's tools that no agent lists. Default: none.
   */
  readonly tools?: readonly (Tool | string)[] | undefined;
  /** The names of the agents that this agent may hand over to. Default: none. */
  readonly handoffs?: readonly string[] | undefined;
  /** The agent's provider. Default: the run's `provider` option. */
  readonly provider?: Provider | undefined;
  /** The agent's model settings. Default: the run's `modelSettings` option. */
  readonly modelSettings?: ModelSettings | undefined;
  /** Limits which tools the agent may call. Default: the run's `toolChoice` option. */
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
