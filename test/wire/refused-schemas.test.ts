import { defineTool, runToolLoop, type Tool } from "turnwright";
import { openaiChat, openaiResponses } from "turnwright/openai";
import { describe, expect, it } from "vitest";
import {
  type ChatOptions,
  chatCall,
  chatText,
  connect,
  createRecorder,
  responsesText,
  sendChat,
  user,
} from "./service-client.ts";

type Json = NonNullable<Extract<Tool["inputSchema"], { readonly [keyword: string]: unknown }>[string]>;
type Schema = { readonly [keyword: string]: Json };

const toTool = (inputSchema: Tool["inputSchema"]): Tool =>
  defineTool({ name: "records", description: "Records", inputSchema, execute: () => "ok" });

async function sendSchema(options: ChatOptions, schema: Schema): Promise<unknown> {
  const { body } = await sendChat(options, { tools: [toTool(schema)] });
  return Object(body.tools?.[0]).function.parameters;
}

const object = (x: Json, root: Schema = {}): Schema => ({ type: "object", properties: { x }, ...root });
const string: Schema = { type: "string" };
const gpt: ChatOptions = { model: "gpt-4.1" };
const lmStudio: ChatOptions = { at: "http://127.0.0.1:1234/v1" };
const gateway: ChatOptions = { at: "https://openrouter.ai/api/v1", model: "openai/gpt-6-astra" };

describe("a tool's schema in a request", () => {
  it.for<[service: string, options: ChatOptions, pattern: string, isSent: boolean]>([
    ["LM Studio", lmStudio, String.raw`^([01]\d|2[0-3])$`, false],
    ["LM Studio", lmStudio, String.raw`^\w+\b$`, false],
    ["LM Studio", lmStudio, "^(?:a|b)$", false],
    ["LM Studio", lmStudio, "[a-z]", false],
    ["LM Studio", lmStudio, String.raw`^[a-z]+\.[a-z]+$`, true],
    ["llama-server", { service: "llama-server" }, String.raw`^\d$`, false],
    ["llama-server", { service: "llama-server" }, "^[0-9]$", true],
    ["OpenAI", gpt, String.raw`^[\p{L}\p{N}]+$`, false],
    ["OpenAI", gpt, String.raw`^(?<year>[0-9]{4})$`, false],
    ["OpenAI", gpt, String.raw`^\u{1F600}$`, false],
    ["OpenAI", gpt, String.raw`^\cA\z$`, false],
    ["OpenAI", gpt, String.raw`^(?!\.)a@b$`, false],
    ["OpenAI", gpt, String.raw`(?<=a)b`, false],
    ["OpenAI", gpt, String.raw`^\d+\.\d\t\n\f\v\u00e4\x41(?:a)\-\/$`, true],
    ["OpenAI", gpt, String.raw`^\\p{L}\(?=$`, true],
    ["a fine-tuned model", { model: "ft:gpt-4.1:org::x" }, String.raw`^\p{L}$`, false],
    ["GPT through a gateway", gateway, String.raw`^\p{L}$`, false],
    ["a different model through a gateway", { ...gateway, model: "z-ai/glm-5.3" }, String.raw`^\p{L}$`, true],
  ])("for %s (options %s), contains the pattern %j: %s", async ([, options, pattern, isSent]) => {
    expect(await sendSchema(options, object({ type: "string", pattern }))).toEqual(
      object(isSent ? { type: "string", pattern } : string),
    );
  });

  it("for GPT, still allows properties that match a refused pattern in patternProperties", async () => {
    const patternProperties = { [String.raw`^\p{L}$`]: string, "^a$": string };
    const closed = { patternProperties, additionalProperties: false };
    expect(await sendSchema(gpt, object(closed))).toEqual(object({ patternProperties: { "^a$": string } }));
    const typed = { patternProperties: { [String.raw`^\p{L}$`]: string }, additionalProperties: { type: "number" } };
    expect(await sendSchema(gpt, object(typed))).toEqual(object({ additionalProperties: { type: "number" } }));
  });

  it.for<[given: Schema, sent: Schema]>([
    [
      { type: "array", maxItems: 2 },
      { type: "array", maxItems: 2, items: {} },
    ],
    [{ type: ["array", "null"] }, { type: ["array", "null"], items: {} }],
    [
      { type: "array", items: string },
      { type: "array", items: string },
    ],
    [
      { type: "array", prefixItems: [string] },
      { type: "array", prefixItems: [string] },
    ],
  ])("for GPT, contains the array %j as %j", async ([given, sent]) => {
    expect(await sendSchema(gpt, object(given))).toEqual(object(sent));
  });

  it("keeps a property named pattern, and values that look like schemas", async () => {
    const schema: Schema = {
      type: "object",
      properties: { pattern: string, x: { type: "string", enum: ["a"], default: { pattern: String.raw`\p{L}` } } },
    };
    expect(await sendSchema(gpt, schema)).toEqual(schema);
  });

  it("contains no refused patterns with openaiResponses either", async () => {
    const { fetch, bodies } = createRecorder(responsesText);
    const tools = [toTool(object({ type: "string", pattern: String.raw`^\p{L}$` }))];
    await runToolLoop({
      provider: openaiResponses({ client: connect(fetch), model: "gpt-6-astra" }),
      tools,
      messages: [user("Hi")],
    });
    expect(bodies[0]?.tools).toMatchObject([{ name: "records", parameters: object(string) }]);
    expect(JSON.stringify(bodies)).not.toContain(String.raw`\p`);
  });
});

const meta: ChatOptions = { service: "meta" };
const $ref = "#/$defs/Node";
const listOf = (items: Json): Schema => ({ type: "array", items });

describe("Muse Spark: schemas that contain themselves", () => {
  it.for<[what: string, given: Schema, sent: Schema]>([
    [
      "a definition",
      object(listOf({ $ref }), { $defs: { Node: { anyOf: [string, listOf({ $ref, description: "D", default: 1 })] } } }),
      object(listOf({ $ref }), { $defs: { Node: { anyOf: [string, listOf({ description: "D" })] } } }),
    ],
    ["the root", object(listOf({ $ref: "#" })), object(listOf({}))],
    [
      "two definitions that refer to each other",
      object({ $ref }, { $defs: { Node: object({ $ref: "#/$defs/B" }), B: object({ $ref }) } }),
      object({ $ref }, { $defs: { Node: object({ $ref: "#/$defs/B" }), B: object({}) } }),
    ],
    [
      "no cycle: one definition, used twice",
      { type: "object", properties: { a: { $ref }, b: listOf({ $ref }) }, $defs: { Node: string } },
      { type: "object", properties: { a: { $ref }, b: listOf({ $ref }) }, $defs: { Node: string } },
    ],
    [
      "a value that looks like a reference",
      object({ enum: ["a"], default: { $ref: "#" } }),
      object({ enum: ["a"], default: { $ref: "#" } }),
    ],
  ])("are sent in an accepted form: %s", async ([, given, sent]) => {
    expect(await sendSchema(meta, given)).toEqual(sent);
  });

  it.for<[what: string, options: ChatOptions, isOpen: boolean]>([
    ["Muse Spark at a different address", { at: "https://opencode.ai/zen/go/v1", model: "muse-spark-1.3-contributor" }, true],
    ["a different model at this address", { at: "https://opencode.ai/zen/go/v1", model: "glm-5.3" }, false],
  ])("are sent to %s with the reference replaced: %s", async ([, options, isOpen]) => {
    expect(await sendSchema(options, object({ $ref: "#" }))).toEqual(object(isOpen ? {} : { $ref: "#" }));
  });
});

describe("Muse Spark: deep schemas", () => {
  const nest = (depth: number, inner: Json): Json =>
    depth === 0 ? inner : { type: "object", properties: { next: nest(depth - 1, inner) } };

  it("keep ten levels, and on the tenth level only keywords that contain no schemas", async () => {
    const tenth = { type: "object", description: "D", properties: { a: string }, required: ["a"], additionalProperties: false };
    expect(await sendSchema(meta, nest(9, tenth) as Schema)).toEqual(nest(9, { type: "object", description: "D" }));
    expect(await sendSchema(meta, nest(9, string) as Schema)).toEqual(nest(9, string));
  });

  it("are sent unchanged to other services", async () => {
    expect(await sendSchema({}, nest(20, string) as Schema)).toEqual(nest(20, string));
  });
});

describe("tool names that a service has reserved", () => {
  const search = (name: string, seen: string[]): Tool =>
    defineTool({
      name,
      description: "Searches",
      inputSchema: { type: "object", properties: {} },
      execute: () => (seen.push(name), "found"),
    });

  it.for<[service: string, options: ChatOptions, name: string, sent: string]>([
    ["DashScope", { at: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1" }, "search", "t_search"],
    ["DashScope", { service: "dashscope" }, "search_web", "search_web"],
    ["Qwen on OpenRouter", { service: "openrouter", model: "qwen/qwen3-coder-plus" }, "search", "t_search"],
    ["a different model on OpenRouter", { service: "openrouter", model: "z-ai/glm-5.3" }, "search", "search"],
    ["Grok", { at: "https://opencode.ai/zen/go/v1", model: "grok-4.5" }, "web_search", "t_web_search"],
    ["xAI", { at: "https://api.x.ai/v1", model: "grok-4.7" }, "search", "search"],
  ])(
    "for %s with the options %j, are sent in an accepted form (%s as %s), and the tool runs",
    async ([, options, name, sent]) => {
      const seen: string[] = [];
      const { fetch, bodies } = createRecorder(({ messages }) => (messages.length === 1 ? chatCall("c1", sent) : chatText()));
      const { at, ...rest } = { model: "m", ...options };
      const result = await runToolLoop({
        provider: openaiChat({ client: connect(fetch, at), ...rest }),
        tools: [search(name, seen)],
        messages: [user("Search.")],
      });
      expect([result.status, seen]).toEqual(["completed", [name]]);
      expect(bodies.map(({ tools }) => Object(tools?.[0]).function.name)).toEqual([sent, sent]);
      expect(JSON.stringify(bodies[1]?.messages)).toContain(`"name":"${sent}"`);
      expect(JSON.stringify(result.messages)).toContain(`"name":"${name}"`);
    },
  );

  it.each([["search"], ["t_search"], ["t_t_search"]])(
    "do not collide with tools whose names look like replacements: a call to %s",
    async (name) => {
      const seen: string[] = [];
      const called = ({ messages, tools }: { messages: readonly unknown[]; tools?: readonly object[] }) => {
        const sent = (tools ?? []).map((tool) => String(Object(tool).function.name));
        expect(new Set(sent).size).toBe(names.length);
        return messages.length === 1 ? chatCall("c1", sent[names.indexOf(name)] ?? "") : chatText();
      };
      const names = ["search", "t_search", "t_t_search", "t_other"];
      const { fetch } = createRecorder(called);
      await runToolLoop({
        provider: openaiChat({ client: connect(fetch), model: "m", service: "dashscope" }),
        tools: names.map((each) => search(each, seen)),
        messages: [user("Search.")],
      });
      expect(seen).toEqual([name]);
    },
  );

  it("include web_search, which openaiResponses renames for Grok", async () => {
    const { fetch, bodies } = createRecorder(responsesText);
    const provider = openaiResponses({ client: connect(fetch, "https://opencode.ai/zen/go/v1"), model: "grok-4.5" });
    await runToolLoop({ provider, tools: [search("web_search", [])], messages: [user("Hi")] });
    expect(bodies[0]?.tools).toMatchObject([{ name: "t_web_search" }]);
  });
});

describe("Gemini: a tool's schema", () => {
  const gemini: ChatOptions = { at: "https://generativelanguage.googleapis.com/v1beta/openai", model: "gemini-3.8-flash" };
  const items = { type: "object", properties: { a: string }, required: ["a", "b"] };

  it.for<[what: string, given: Json, sent: Json]>([
    ["a required property that is not defined", items, { ...items, required: ["a"] }],
    [
      "only required properties that are not defined",
      { type: "array", items: { type: "object", required: ["a"] } },
      { type: "array", items: { type: "object" } },
    ],
    ["an empty value", { type: "string", enum: ["", "up"] }, { type: "string", description: 'Values: "", "up".', enum: ["up"] }],
    ["only an empty value", { type: "string", enum: [""] }, { type: "string", description: 'Values: "".' }],
    [
      "enum values that are numbers",
      { type: "integer", description: "Days", enum: [1, 7] },
      { type: "integer", description: "Days\nValues: 1, 7." },
    ],
    [
      "enum values of several types",
      { enum: ["a", 1, null] },
      { type: "string", description: 'Values: "a", 1, null.', enum: ["a"] },
    ],
    ["enum values without a type", { enum: ["a", "b"] }, { type: "string", enum: ["a", "b"] }],
    ["enum numbers without a type", { enum: [1, 2] }, { description: "Values: 1, 2." }],
    [
      "null or a value",
      { type: ["string", "null"], enum: ["a", null] },
      { type: ["string", "null"], description: 'Values: "a", null.', enum: ["a"] },
    ],
    [
      "properties named like keywords",
      { type: "object", properties: { enum: string, required: string }, required: ["enum"] },
      { type: "object", properties: { enum: string, required: string }, required: ["enum"] },
    ],
  ])("is sent in an accepted form if it has %s", async ([, given, sent]) => {
    expect(await sendSchema(gemini, object(given))).toEqual(object(sent));
  });

  it.for<[model: string, isChanged: boolean]>([
    ["google/gemini-3.8-flash", true],
    ["z-ai/glm-5.3", false],
  ])("is changed for the model %s at a gateway: %s", async ([model, isChanged]) => {
    const options = { ...gateway, model };
    expect(await sendSchema(options, object(items))).toEqual(object(isChanged ? { ...items, required: ["a"] } : items));
  });
});
