// Reads and checks one agent's options.

import { describeValue, quote } from "../../shared/texts.ts";
import type { Tool } from "../../core/index.ts";
import type { AgentOptions } from "./agent-options.ts";
import { transferName } from "./transfer-tool.ts";

/** Returns the names of the agent's tools, apart from those that no agent lists. */
export function namesOf({ tools = [], handoffs = [] }: AgentOptions): readonly string[] {
  return [...tools.map(nameOf), ...handoffs.map(transferName)];
}

export function readSystem(text: unknown): string {
  if (typeof text === "string") return text;
  throw new TypeError(`An agent's "system" function must return a string, but returned ${describeValue(text)}.`);
}

export function findAgent(agents: ReadonlyMap<string, AgentOptions>, name: string | undefined): AgentOptions {
  const agent = name === undefined ? undefined : agents.get(name);
  if (agent !== undefined) return agent;
  throw new Error(
    `The run must continue as the agent ${quote(name ?? "")}, which was not passed to "createHandoffs". Add this agent.`,
  );
}

export function nameOf(tool: Tool | string): string {
  return typeof tool === "string" ? tool : tool.name;
}
