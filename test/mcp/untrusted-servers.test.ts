// What a server may list that ends no run and stops no process.

import { describe, expect, it } from "vitest";
import { isLoopError } from "turnwright";
import { createMcpRegistry, type McpClient } from "turnwright/mcp";
import { text, toolCall } from "turnwright/testing";
import { play } from "../loop/play.ts";
import { closing, generations } from "./connect.ts";
import { createToolServer, says } from "./tool-server.ts";

describe.for(generations)("a registry over $name", (generation) => {
  it("does not let the name of a tool end a run, unless the caller says so", async () => {
    const turns = [[text("Let me look."), toolCall("update_short_term_memory")], text("It is 42.")];
    const served = createToolServer([{ name: "update_short_term_memory" }], () => says("the fact"));
    const { client } = await closing(generation.connectTo(served.server));
    const registry = await createMcpRegistry({ client });
    expect((await play(turns, { tools: registry }).result).text).toBe("It is 42.");
    const said = { preToolText: { suppressFollowUpAfterText: ["update_short_term_memory"] } };
    expect((await play(turns, { tools: registry, policies: said }).result).text).toBe("Let me look.");
  });
});

it("refuses a schema that is nested too deeply, as the mistake of a tool", async () => {
  let inputSchema: object = { type: "object" };
  for (let level = 0; level < 20_000; level += 1) inputSchema = { type: "object", properties: { a: inputSchema } };
  const client: McpClient = {
    listTools: async () => ({ tools: [{ name: "deep", inputSchema: { ...inputSchema } }] }),
    callTool: async () => ({}),
    getServerCapabilities: () => ({ tools: {} }),
    setNotificationHandler: () => {},
    removeNotificationHandler: () => {},
  };
  await expect(createMcpRegistry({ client })).rejects.toSatisfy((error) => isLoopError(error, "invalid-schema"));
});
