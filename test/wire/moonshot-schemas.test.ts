import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { defineTool, runToolLoop, type Tool } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { anthropicMessages } from "turnwright/anthropic";
import { createMcpRegistry, type McpClient } from "turnwright/mcp";
import { describe, expect, it } from "vitest";
import { chatText, connectAnthropic, createRecorder, refuse, sendChat, user } from "./service-client.ts";

const withSchema = (inputSchema: Tool["inputSchema"]): Tool =>
  defineTool({ name: "records", description: "Records", inputSchema, execute: () => "ok" });

type Json = NonNullable<Extract<Tool["inputSchema"], { readonly [keyword: string]: unknown }>[string]>;
type Schema = { readonly [keyword: string]: Json };

const inObject = (x: Json, root: Schema = {}): Schema => ({ type: "object", properties: { x }, ...root });

async function parametersOf(inputSchema: Schema, at = "https://api.moonshot.ai/v1", model = "kimi-k3"): Promise<unknown> {
  const { body } = await sendChat({ at, model }, { tools: [withSchema(inputSchema)] });
  return Object(body.tools?.[0]).function.parameters;
}

const anyOf = ["string", "number", "boolean", "object", "array", "null"].map((type) => ({ type }));
const node = { type: "object", properties: { name: { type: "string" } } };
const $ref = "#/$defs/Node";
const $defs = { Node: node };

describe("Moonshot: a tool's schema", () => {
  it.for<[what: string, given: Json, sent: object]>([
    [
      "values without a type",
      { enum: ["a", "b"], description: "Mode" },
      { type: "string", enum: ["a", "b"], description: "Mode" },
    ],
    ["values and null", { enum: ["a", null] }, { type: ["string", "null"], enum: ["a", null] }],
    ["values of two types", { enum: ["a", 1], title: "Mix" }, { title: "Mix", anyOf }],
    [
      "properties without a type",
      { properties: { y: { minLength: 1 } } },
      { type: "object", properties: { y: { type: "string", minLength: 1 } } },
    ],
    ["items without a type", { items: { minimum: 1 } }, { type: "array", items: { type: "number", minimum: 1 } }],
    ["no constraint", { description: "Anything" }, { description: "Anything", anyOf }],
    ["true", true, { anyOf }],
    ["a tuple", { type: "array", items: [{ type: "string" }] }, { type: "array", items: { anyOf } }],
    ["a closed tuple", { type: "array", prefixItems: [{ type: "string" }], items: false }, { type: "array", items: { anyOf } }],
    ["other properties", { type: "object", additionalProperties: {} }, { type: "object", additionalProperties: true }],
    ["closed", { type: "object", additionalProperties: false }, { type: "object", additionalProperties: false }],
    [
      "a record",
      { type: "object", additionalProperties: { const: 1 } },
      { type: "object", additionalProperties: { type: "number", const: 1 } },
    ],
    [
      "anyOf beside a type",
      { type: "string", description: "D", anyOf: [{ minLength: 1 }, { format: "uri" }] },
      {
        description: "D",
        anyOf: [
          { type: "string", minLength: 1 },
          { type: "string", format: "uri" },
        ],
      },
    ],
    [
      "oneOf",
      { oneOf: [{ const: "a" }, { const: true }] },
      {
        anyOf: [
          { type: "string", const: "a" },
          { type: "boolean", const: true },
        ],
      },
    ],
    ["groups of properties", { ...node, anyOf: [{ required: ["name"] }, { required: ["id"] }] }, node],
    ["an undeclared required property", { ...node, required: ["name", "id"] }, { ...node, required: ["name"] }],
    ["allOf with one part", { description: "D", allOf: [{ type: "string" }] }, { description: "D", type: "string" }],
    [
      "allOf with two parts",
      { allOf: [node, { properties: { id: {} }, required: ["id"] }] },
      { type: "object", properties: { name: { type: "string" }, id: { anyOf } }, required: ["id"] },
    ],
    ["keywords with schemas", { type: "string", not: { const: "a" }, if: true }, { type: "string" }],
    ["a dangling reference", { $ref: "https://example.com/x.json", title: "T" }, { title: "T", anyOf }],
  ])("is sent in an accepted form: %s", async ([, given, sent]) => {
    expect(await parametersOf(inObject(given))).toEqual(inObject(sent as Json));
  });

  it.for<[what: string, given: Schema, sent: object]>([
    ["definitions", inObject({ $ref: "#/definitions/Node" }, { definitions: $defs }), inObject({ $ref }, { $defs })],
    [
      "a type beside $ref",
      inObject({ type: "object", description: "D", $ref }, { $defs }),
      inObject({ description: "D", $ref }, { $defs }),
    ],
    [
      "allOf with a reference",
      inObject({ description: "D", allOf: [{ $ref }] }, { $defs }),
      inObject({ description: "D", $ref }, { $defs }),
    ],
    [
      "allOf with a reference and more",
      inObject({ allOf: [{ $ref }, { properties: { id: { type: "string" } } }] }, { $defs }),
      inObject({ type: "object", properties: { name: { type: "string" }, id: { type: "string" } } }),
    ],
    [
      "a description beside a reference to a schema with its own description",
      inObject({ description: "D", title: "T", $ref }, { $defs: { Node: { ...node, description: "E" } } }),
      inObject({ title: "T", $ref }, { $defs: { Node: { ...node, description: "E" } } }),
    ],
    [
      "a description beside a reference in a definition that refers to itself",
      inObject({ $ref }, { $defs: { Node: inObject({ description: "D", $ref }, { description: "E" }) } }),
      inObject({ $ref }, { $defs: { Node: inObject({ $ref }, { description: "E" }) } }),
    ],
    ["unused definitions", inObject({ type: "string" }, { $defs }), inObject({ type: "string" })],
    [
      "a reference to a property",
      { type: "object", properties: { a: { enum: ["b"] }, x: { $ref: "#/properties/a" } } },
      {
        type: "object",
        properties: { a: { type: "string", enum: ["b"] }, x: { $ref: "#/$defs/properties_a" } },
        $defs: { properties_a: { type: "string", enum: ["b"] } },
      },
    ],
    [
      "a reference to the root",
      inObject({ $ref: "#" }),
      inObject({ $ref: "#/$defs/root" }, { $defs: { root: inObject({ $ref: "#/$defs/root" }) } }),
    ],
    [
      "a definition that refers to itself",
      inObject({ $ref }, { $defs: { Node: { properties: { next: { $ref } } } } }),
      inObject({ $ref }, { $defs: { Node: { type: "object", properties: { next: { $ref } } } } }),
    ],
  ])("is sent in an accepted form: %s", async ([, given, sent]) => {
    expect(await parametersOf(given)).toEqual(sent);
  });

  it("stays small even if a definition contains itself in allOf", async () => {
    const both = { allOf: [{ $ref }, { $ref }] };
    const schema = inObject({ $ref }, { $defs: { Node: { properties: { a: both, b: both } } } });
    expect(JSON.stringify(await parametersOf(schema)).length).toBeLessThan(100_000);
  });

  const loose = inObject({ description: "Anything" });
  const strict = inObject({ description: "Anything", anyOf });

  it("is converted for Kimi behind a gateway, and for no other model", async () => {
    expect(await parametersOf(loose, "https://openrouter.ai/api/v1", "moonshotai/kimi-k3")).toEqual(strict);
    expect(await parametersOf(loose, "https://openrouter.ai/api/v1", "z-ai/glm-5.3")).toEqual(loose);
  });

  it("is also converted for a tool from an MCP server", async () => {
    const client: McpClient = {
      getServerCapabilities: () => ({ tools: {} }),
      listTools: async () => ({ tools: [{ name: "records", inputSchema: { ...loose, type: "object" } }] }),
      callTool: async () => ({ content: [] }),
      setNotificationHandler: () => {},
      removeNotificationHandler: () => {},
    };
    const { body } = await sendChat({ model: "kimi-k3" }, { tools: await createMcpRegistry({ client }) });
    expect(body.tools).toMatchObject([{ function: { parameters: strict } }]);
  });

  it("is also converted by anthropicMessages and aiSdkModel", async () => {
    const answer = createRecorder(() => refuse(400, { error: { message: "Seen enough." } }));
    const client = connectAnthropic(answer.fetch, "https://api.moonshot.ai/anthropic");
    const run = { tools: [withSchema(loose)], messages: [user("Hi")] };
    await runToolLoop({ provider: anthropicMessages({ client, model: "kimi-k3" }), ...run });
    expect(answer.bodies[0]?.tools).toMatchObject([{ input_schema: strict }]);
    const { fetch, bodies } = createRecorder(chatText);
    const model = createOpenAICompatible({ name: "moonshotai", baseURL: "https://api.moonshot.ai/v1", fetch })("kimi-k3");
    await runToolLoop({ provider: aiSdkModel({ model }), ...run });
    expect(bodies[0]?.tools).toMatchObject([{ function: { parameters: strict } }]);
  });
});
