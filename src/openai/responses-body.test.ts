import { describe, expect, it } from "vitest";
import type { ModelRequest, ToolDefinition } from "../core/provider-kit.ts";
import { buildResponsesBody, createInputConverter, createToolConverter } from "./responses-body.ts";
import { checkResponsesOptions, type OpenAIResponsesOptions, type ResponsesRequestBody } from "./responses-options.ts";

const client = { responses: { create: () => Promise.reject(new Error("not asked")) } };
const weather: ToolDefinition = {
  name: "weather",
  description: "Weather of a city",
  inputSchema: { type: "object" },
  sequential: true,
};
const question = { messages: [{ role: "user" as const, content: "hi" }], tools: [], iteration: 0 };

function build(request: Partial<ModelRequest>, options: Partial<OpenAIResponsesOptions> = {}): ResponsesRequestBody {
  const settings = checkResponsesOptions({ client, model: "m", include: [], ...options });
  const ports = { settings, toInput: createInputConverter(settings), toTool: createToolConverter(settings) };
  return buildResponsesBody({ ...question, ...request }, ports);
}

const plain = { model: "m", input: [{ role: "user", content: "hi" }], store: false, stream: true };
const wireTool = {
  type: "function",
  name: "weather",
  description: "Weather of a city",
  parameters: { type: "object" },
  strict: false,
};
const search = { type: "web_search" };
const grammar = { type: "grammar", syntax: "regex", definition: "[a-z]+" } as const;

describe("buildResponsesBody", () => {
  it.for<[what: string, request: Partial<ModelRequest>, body: object]>([
    ["messages alone", {}, plain],
    ["a system text", { system: "Be brief." }, { ...plain, instructions: "Be brief." }],
    ["no empty system text", { system: "" }, plain],
    ["tools", { tools: [weather] }, { ...plain, tools: [wireTool] }],
    ["tool choice auto", { tools: [weather], toolChoice: "auto" }, { ...plain, tools: [wireTool], tool_choice: "auto" }],
    [
      "tool choice required",
      { tools: [weather], toolChoice: "required" },
      { ...plain, tools: [wireTool], tool_choice: "required" },
    ],
    [
      "tool choice none and its tools",
      { tools: [weather], toolChoice: "none" },
      { ...plain, tools: [wireTool], tool_choice: "none" },
    ],
    [
      "the choice of one tool",
      { tools: [weather], toolChoice: { name: "weather" } },
      { ...plain, tools: [wireTool], tool_choice: { type: "function", name: "weather" } },
    ],
    ["no tool choice without tools", { toolChoice: "none" }, plain],
    [
      "all settings except stop sequences and the seed",
      { settings: { maxOutputTokens: 9, temperature: 0, topP: 0.5, stopSequences: ["END"], seed: 7 } },
      { ...plain, max_output_tokens: 9, temperature: 0, top_p: 0.5 },
    ],
    [
      "extra fields",
      { settings: { temperature: 1, extra: { temperature: 0, service_tier: "flex", store: true } } },
      { ...plain, temperature: 0, service_tier: "flex", store: true },
    ],
    ["stream: true whatever the extra fields contain", { settings: { extra: { stream: false, n: 1 } } }, { ...plain, n: 1 }],
  ])("builds a body with %s", ([, request, body]) => {
    expect(build(request)).toEqual(body);
  });

  it.for<[what: string, options: Partial<OpenAIResponsesOptions>, request: Partial<ModelRequest>, body: object]>([
    [
      "encrypted reasoning if responses are not stored",
      { include: undefined },
      {},
      { ...plain, include: ["reasoning.encrypted_content"] },
    ],
    ["no include if responses are stored", { store: true, include: undefined }, {}, { ...plain, store: true }],
    ["the given include", { include: ["a", "b"] }, {}, { ...plain, include: ["a", "b"] }],
    ["reasoning", { reasoning: { effort: "low" } }, {}, { ...plain, reasoning: { effort: "low" } }],
    [
      "server tools after the tools of the run",
      { serverTools: [search] },
      { tools: [weather] },
      { ...plain, tools: [wireTool, search] },
    ],
    [
      "server tools alone",
      { serverTools: [search] },
      { toolChoice: "required" },
      { ...plain, tools: [search], tool_choice: "required" },
    ],
    [
      "a custom tool without a schema",
      { customTools: { weather: grammar } },
      { tools: [weather], toolChoice: { name: "weather" } },
      {
        ...plain,
        tools: [{ type: "custom", name: "weather", description: "Weather of a city", format: grammar }],
        tool_choice: { type: "custom", name: "weather" },
      },
    ],
    ["no custom tool that the run lacks", { customTools: { other: { type: "text" } } }, {}, plain],
  ])("builds a body with %s", ([, options, request, body]) => {
    expect(build(request, options)).toEqual(body);
  });

  it("sends an extra field named __proto__ without changing the prototype", () => {
    const body = build({ settings: { extra: JSON.parse('{"__proto__":{"polluted":true}}') } });
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
    expect(Object.hasOwn(body, "__proto__")).toBe(true);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  it("converts a tool definition once", () => {
    const toTool = createToolConverter({ customTools: new Map() });
    expect(toTool(weather)).toBe(toTool(weather));
    expect(toTool({ ...weather })).not.toBe(toTool(weather));
  });
});
