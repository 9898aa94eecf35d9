import { defineTool, runToolLoop, type Tool, type ToolRegistry } from "turnwright";
import { createMcpRegistry, type McpClient } from "turnwright/mcp";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { adapters } from "./adapters.ts";
import type { Scripted } from "./all-wires.ts";

const lookup = z.object({ action: z.literal("lookup"), id: z.string() });
const find = z.object({ action: z.literal("search"), query: z.string() });
const schemas: { readonly [name: string]: Tool["inputSchema"] } = {
  discriminated: z.discriminatedUnion("action", [lookup, find]),
  union: z.union([lookup, find]),
  intersection: z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })),
  empty: {},
  nullable: { type: ["object", "null"], properties: { a: { type: "string" } } },
  reference: { $ref: "#/definitions/In", definitions: { In: { type: "object", properties: { q: { type: "string" } } } } },
  groups: { type: "object", properties: { a: { type: "string" } }, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
};

const messages = [{ role: "user", content: "Hi" }] as const;
const done: Scripted = { text: "Done.", end: "stop" };
const keywords = ["properties", "oneOf", "anyOf", "allOf", "$ref", "enum", "not"];

/** Finds the schema of a tool: the outermost object with one of the keywords. */
function findSchema(value: unknown): object | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (keywords.some((keyword) => keyword in value)) return value;
  return Object.values(value)
    .map(findSchema)
    .find((found) => found !== undefined);
}

function toolsIn(body: unknown): unknown {
  const { tools, config } = body as { readonly tools?: unknown; readonly config?: { readonly tools?: unknown } };
  return tools ?? config?.tools;
}

describe.for(adapters)("$name $variant: a tool schema's root", (adapter) => {
  it.for(Object.keys(schemas))("becomes a plain object for a schema of the kind %s", async (kind) => {
    const { provider, bodies, close } = await adapter.open([done]);
    onTestFinished(close);
    const tool = defineTool({ name: "records", description: "Records", inputSchema: schemas[kind] ?? {}, execute: () => "ok" });
    const { error } = await runToolLoop({ provider, tools: [tool], messages });
    expect(error).toBeUndefined();
    const sent = findSchema(toolsIn(bodies[0]));
    expect(sent).toMatchObject({ type: "object", properties: {} });
    expect(keywords.slice(1).filter((keyword) => keyword in (sent ?? {}))).toEqual([]);
  });
});

const [adapter] = adapters;
if (adapter === undefined) throw new Error("There is no adapter.");

it("runToolLoop: validates arguments with the tool's original union, not with the merged schema", async () => {
  const call = (id: string, args: string): Scripted => ({ calls: [[id, "records", args]], end: "tools" });
  const { provider, close } = await adapter.open([
    call("call_1", '{"action":"lookup","query":"a"}'),
    call("call_2", '{"action":"lookup","id":"7"}'),
    done,
  ]);
  onTestFinished(close);
  const inputSchema = z.discriminatedUnion("action", [lookup, find]);
  const tool = defineTool({ name: "records", description: "Records", inputSchema, execute: ({ action }) => action });
  const { calls } = await runToolLoop({ provider, tools: [tool], messages });
  expect(calls).toMatchObject([{ outcome: "invalid-input" }, { outcome: "completed", result: "lookup" }]);
});

const definition = { name: "records", description: "Records", inputSchema: { anyOf: [{ type: "string" }, { type: "array" }] } };
const registry: ToolRegistry = { definitions: () => [definition], executeTool: () => "ok" };
const client: McpClient = {
  getServerCapabilities: () => ({ tools: {} }),
  listTools: async () => ({
    tools: [definition].map((tool) => ({ ...tool, inputSchema: { ...tool.inputSchema, type: "array" } })),
  }),
  callTool: async () => ({ content: [] }),
  setNotificationHandler: () => {},
  removeNotificationHandler: () => {},
};

it("a tool schema that accepts no object is rejected before any request", async () => {
  const { provider, bodies, close } = await adapter.open([done]);
  onTestFinished(close);
  const running = runToolLoop({ provider, tools: registry, messages });
  await expect(running).rejects.toMatchObject({ code: "invalid-schema", details: { toolName: "records" } });
  expect(bodies).toEqual([]);
});

it("an MCP tool whose schema accepts no object is reported and omitted", async () => {
  const { provider, bodies, close } = await adapter.open([done]);
  onTestFinished(close);
  const errors: unknown[] = [];
  const tools = await createMcpRegistry({ client, onError: (error) => errors.push(error) });
  expect(errors).toMatchObject([{ code: "invalid-schema", details: { toolName: "records" } }]);
  expect(await runToolLoop({ provider, tools, messages })).toMatchObject({ status: "completed" });
  expect(JSON.stringify(bodies)).not.toContain("records");
});
