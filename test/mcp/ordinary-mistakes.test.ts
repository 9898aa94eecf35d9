// Mistakes in real MCP servers, and features that a server may have without a mistake.

import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { createMcpRegistry } from "turnwright/mcp";
import { runToolLoop } from "turnwright";
import { text as says, toolCall } from "turnwright/testing";
import { answersOf, play } from "../loop/play.ts";
import { adapters } from "../wire/adapters.ts";
import { setUp } from "./call-stage.ts";
import { closing, generations } from "./connect.ts";
import { createToolServer, type ServedTool } from "./tool-server.ts";

const chat = adapters[0] as (typeof adapters)[number];
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe.for(generations)("createMcpRegistry over $name", (generation) => {
  it.for<[what: string, inputSchema: unknown]>([
    ["a schema of another type", { type: "string" }],
    ["a type in capital letters", { type: "OBJECT", properties: {} }],
    ["no schema", null],
  ])("lists the other tools if a tool has %s, and reports that tool", async ([, inputSchema]) => {
    const odd = { name: "odd", inputSchema } as ServedTool;
    const { server } = createToolServer([{ name: "first" }, odd, { name: "last" }]);
    const { client } = await closing(generation.connectTo(server));
    const errors: unknown[] = [];
    const registry = await createMcpRegistry({ client, onError: (error) => errors.push(error) });
    expect(registry.definitions().map(({ name }) => name)).toEqual(["first", "last"]);
    expect(errors).toMatchObject([
      {
        code: "invalid-schema",
        message: expect.stringMatching(/^The input schema of tool "odd" does not describe an object/),
      },
    ]);
  });

  it("keeps the order of the tools if the server lists them in a different order", async () => {
    const served = createToolServer(["b", "a", "c"].map((name) => ({ name })));
    const { client } = await closing(generation.connectTo(served.server));
    const registry = await createMcpRegistry({ client });
    const definitions = registry.definitions();
    await served.setTools(
      ["c", "a", "b"].map((name) => ({ name })),
      { silent: true },
    );
    await registry.refresh();
    expect(registry.definitions()).toBe(definitions);
    await served.setTools(
      ["new", "c", "b"].map((name) => ({ name })),
      { silent: true },
    );
    await registry.refresh();
    expect(registry.definitions().map(({ name }) => name)).toEqual(["b", "c", "new"]);
  });

  it("tells the model which web page the user must open before the call can run", async () => {
    const elicitations = [
      { mode: "url", elicitationId: "1", url: "https://example.com/login?state=7", message: "Connect your calendar" },
      { mode: "url", elicitationId: "2", url: "javascript:alert(1)", message: "Connect your files" },
    ];
    const { start } = await setUp(generation, [{ name: "act" }], {
      answer: () => Promise.reject(new McpError(-32_042, "This request requires more information.", { elicitations })),
    });
    const result = await start(["act"]).result;
    expect(answersOf(result)).toMatchObject([
      {
        outcome: "failed",
        result: {
          reason:
            "The user must first open a page, for example to log in. Tell the user the address, and call the tool again afterwards.\n" +
            "Connect your calendar: https://example.com/login?state=7",
        },
      },
    ]);
  });

  it("shows an image once, although FastMCP repeats its bytes in the structured content", async () => {
    const image = { type: "image" as const, mimeType: "image/png", data: png };
    const { start } = await setUp(generation, [{ name: "act" }], {
      answer: () => ({ content: [image], structuredContent: { result: [image, { type: "text", text: "A dot" }] } }),
    });
    const result = await start(["act"]).result;
    expect(answersOf(result)).toMatchObject([
      {
        outcome: "completed",
        result: {
          result: [
            { type: "image", mimeType: "image/png", data: "(shown below)" },
            { type: "text", text: "A dot" },
          ],
        },
        content: [{ type: "image", mediaType: "image/png", data: png }],
      },
    ]);
  });

  it("omits null arguments for optional properties that do not accept null", async () => {
    const text = { type: "string" as const };
    const properties = {
      query: text,
      country: text,
      sort: { type: ["string", "number"] },
      page: { type: "integer" as const, enum: [1, 2] },
      note: { type: ["string", "null"] },
      other: { anyOf: [text, { type: "null" as const }] },
      any: {},
      near: { type: "object" as const, properties: { city: text, radius: { type: "number" as const } }, required: ["city"] },
      filters: { type: "array" as const, items: { type: "object" as const, properties: { field: text } } },
    };
    const inputSchema = { type: "object" as const, properties, required: ["query"] };
    const served = createToolServer([{ name: "search", inputSchema }]);
    const { client } = await closing(generation.connectTo(served.server));
    const tools = await createMcpRegistry({ client });
    const absent = { country: null, sort: null, page: null };
    const kept = { query: null, note: null, other: null, any: null, unknown: null };
    const args = { ...kept, ...absent, near: { city: null, radius: null }, filters: [{ field: null }, { field: "a" }, null] };
    const { provider, close } = await chat.open([
      { calls: [["call_1", "search", JSON.stringify(args)]], end: "tools" },
      { text: "Done.", end: "stop" },
    ]);
    await runToolLoop({ provider, tools, messages: [{ role: "user", content: "Go." }] });
    await close();
    expect(served.calls.map((call) => call.args)).toEqual([
      { ...kept, near: { city: null }, filters: [{}, { field: "a" }, null] },
    ]);
  });

  it("reads results and tools in which absent fields are null", async () => {
    const block = { type: "text", text: "Rows: 3", annotations: null, _meta: null };
    const absent = { title: null, description: null, outputSchema: null, annotations: null, icons: null, _meta: null };
    const server = answerWith({
      initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "dab", version: "1" } },
      "tools/list": { tools: [{ name: "read", inputSchema: { type: "object" }, ...absent }], nextCursor: null },
      "tools/call": { content: [block], structuredContent: null, isError: null },
    });
    const { client } = await closing(generation.connectTo(server));
    const tools = await createMcpRegistry({ client });
    const result = await play([toolCall("read"), says("Done.")], { tools }).result;
    expect(answersOf(result)).toMatchObject([{ outcome: "completed", result: "Rows: 3" }]);
  });
});

/** A server that sends the same result for each request with a method, and is not written with the SDK, which would refuse null. */
function answerWith(results: { readonly [method: string]: object }): McpServer {
  const connect = async (transport: Transport): Promise<void> => {
    const onmessage: Transport["onmessage"] = (message) => {
      if (!("id" in message) || !("method" in message)) return;
      void transport.send({ jsonrpc: "2.0", id: message.id, result: { ...results[message.method] } });
    };
    Object.assign(transport, { onmessage });
    await transport.start();
  };
  return { connect } as unknown as McpServer;
}
