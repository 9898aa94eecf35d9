import { describe, it } from "vitest";
import type { Json, Tool } from "turnwright";
import { createMcpRegistry } from "turnwright/mcp";
import { registrySuite, runTool } from "turnwright/testing";
import { generations } from "./connect.ts";
import { createToolServer } from "./tool-server.ts";

function serve(tools: readonly Tool[]): ReturnType<typeof createToolServer> {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const served = tools.map(({ name, description }) => ({ name, description }));
  return createToolServer(served, async ({ name, args, signal }) => {
    const tool = byName.get(name);
    if (tool === undefined) throw new Error(`There is no tool ${name}.`);
    const outcome = await runTool(tool, args, { signal });
    if (outcome.kind === "completed") return { content: [], structuredContent: toFields(outcome.data) };
    return { content: [{ type: "text", text: outcome.kind === "failed" ? outcome.error.message : outcome.kind }], isError: true };
  });
}

function toFields(data: Json): { readonly [field: string]: Json } {
  return { ...(data as { readonly [field: string]: Json }) };
}

describe.for(generations)("createMcpRegistry over $name", (generation) => {
  const create = async (
    tools: readonly Tool[],
  ): Promise<{ registry: Awaited<ReturnType<typeof createMcpRegistry>>; close(): Promise<void> }> => {
    const { client, close } = await generation.connectTo(serve(tools).server);
    return { registry: await createMcpRegistry({ client }), close };
  };
  for (const { title, run } of registrySuite({ create })) it(title, run);
});
