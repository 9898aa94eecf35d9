import type { LoopOptions } from "turnwright";
import { createMcpRegistry, type McpRegistryOptions } from "turnwright/mcp";
import { text, toolCall } from "turnwright/testing";
import { play, type Playing } from "../loop/play.ts";
import { closing, type Generation } from "./connect.ts";
import { type Answer, createToolServer, type ServedTool, type ToolServer } from "./tool-server.ts";

export interface Setup {
  readonly served: ToolServer;
  /** The first assistant message calls the tools in `calls`. The second one is an answer. */
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

/** Responds only after the client has cancelled the call. */
export const untilCancelled: Answer = ({ signal }) =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error(`cancelled: ${String(signal.reason)}`)), { once: true });
  });
