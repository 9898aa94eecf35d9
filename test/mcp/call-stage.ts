// Connects to an MCP server, and starts runs that call its tools.

import type { LoopOptions } from "turnwright";
import { createMcpRegistry, type McpRegistryOptions } from "turnwright/mcp";
import { text, toolCall } from "turnwright/testing";
import { play, type Playing } from "../loop/play.ts";
import { closing, type Generation } from "./connect.ts";
import { type Answer, createToolServer, type ServedTool, type ToolServer } from "./tool-server.ts";

export interface Setup {
  readonly served: ToolServer;
  /** Starts a run whose first assistant message calls the tools with these names, and whose second message is an answer. */
  readonly start: (calls: readonly string[], more?: Partial<LoopOptions>) => Playing;
}

export async function setUp(
  generation: Generation,
  tools: readonly ServedTool[],
  { answer, ...options }: Partial<McpRegistryOptions> & { readonly answer?: Answer } = {},
): Promise<Setup> {
  const served = createToolServer(tools, answer);
  const { client } = await closing(generation.connectTo(served.server));
  const registry = await createMcpRegistry({ client, ...options });
  return {
    served,
    start: (calls, more = {}) =>
      play([calls.map((name) => toolCall(name, { n: 1 })), text("Done.")], { tools: registry, ...more }),
  };
}

/** Responds only when the client cancels the call. */
export const untilCancelled: Answer = ({ signal }) =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error(`cancelled: ${String(signal.reason)}`)), { once: true });
  });
