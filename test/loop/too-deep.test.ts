import { expect, it } from "vitest";
import { isLoopError, type Json, type JsonSchema, type Message, type ToolRegistry } from "turnwright";
import { createMcpRegistry, type McpClient } from "turnwright/mcp";
import { text } from "turnwright/testing";
import { play } from "./play.ts";
import { refusal } from "./refusal.ts";

function nest(levels: number, inner: Json = 1): { readonly [key: string]: Json } {
  let value: { readonly [key: string]: Json } = { a: inner };
  for (let level = 1; level < levels; level += 1) value = { a: value };
  return value;
}

const calling = (args: Json): readonly Message[] => [
  { role: "user", content: "Go." },
  { role: "assistant", content: [{ type: "tool-call", callId: "c", name: "t", args }] },
  { role: "tool", results: [{ callId: "c", name: "t", outcome: "completed", result: args }] },
];
const registryOf = (inputSchema: JsonSchema): ToolRegistry => ({
  definitions: () => [{ name: "t", description: "", inputSchema }],
  executeTool: () => 1,
});

it.for([1_100, 20_000])("runToolLoop rejects %d nested levels in messages and in registry schemas", async (levels) => {
  expect(await refusal({ messages: calling(nest(levels)) })).toMatchObject({ code: "invalid-messages", details: { index: 1 } });
  const deep = { type: "object", properties: nest(levels) };
  expect(await refusal({ tools: registryOf(deep) })).toMatchObject({ code: "invalid-schema", details: { toolName: "t" } });
});

it("runToolLoop accepts 1000 nested levels in messages and in registry schemas", async () => {
  const deep = nest(1_000);
  const playing = play([text("Done.")], { messages: calling(deep), tools: registryOf(deep) });
  expect((await playing.result).status).toBe("completed");
});

it.for([1_100, 20_000])("createMcpRegistry rejects a tool whose schema has %d nested levels", async (levels) => {
  const tools = [{ name: "t", inputSchema: { type: "object", properties: nest(levels) } }];
  const client: object = {
    listTools: async () => ({ tools }),
    callTool: async () => ({}),
    getServerCapabilities: () => ({ tools: {} }),
    setNotificationHandler: () => {},
    removeNotificationHandler: () => {},
  };
  const error: unknown = await createMcpRegistry({ client: client as McpClient }).catch((reason: unknown) => reason);
  expect(isLoopError(error, "invalid-schema") && error.details).toEqual({
    toolName: "t",
    problem: "is not JSON: a cyclic value, or more than 1,000 levels",
  });
});
