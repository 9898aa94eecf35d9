// The body of a request.

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

describe("the body of a request", () => {
  it.for<[what: string, request: Partial<ModelRequest>, body: object]>([
    ["nothing but messages", {}, plain],
    ["a system text", { system: "Be brief." }, { ...plain, instructions: "Be brief." }],
    ["an empty system text", { system: "" }, plain],
    ["tools", { tools: [weather] }, { ...plain, tools: [wireTool] }],
    ["tool choice auto", { tools: [weather], toolChoice: "auto" }, { ...plain, tools: [wireTool], tool_choice: "auto" }],
    [
      "tool choice required",
      { tools: [weather], toolChoice: "required" },
      { ...plain, tools: [wireTool], tool_choice: "required" },
    ],
    [
      "tool choice none, which keeps the tools",
      { tools: [weather], toolChoice: "none" },
      { ...plain, tools: [wireTool], tool_choice: "none" },
    ],
    [
      "one tool",
      { tools: [weather], toolChoice: { name: "weather" } },
      { ...plain, tools: [wireTool], tool_choice: { type: "function", name: "weather" } },
    ],
    ["a tool choice without tools", { toolChoice: "none" }, plain],
    [
      "settings, but for those that the wire does not have",
      { settings: { maxOutputTokens: 9, temperature: 0, topP: 0.5, stopSequences: ["END"], seed: 7 } },
      { ...plain, max_output_tokens: 9, temperature: 0, top_p: 0.5 },
    ],
    [
      "extra fields",
      { settings: { temperature: 1, extra: { temperature: 0, service_tier: "flex", store: true } } },
      { ...plain, temperature: 0, service_tier: "flex", store: true },
    ],
    ["extra fields that would end streaming", { settings: { extra: { stream: false, n: 1 } } }, { ...plain, n: 1 }],
  ])("has %s", ([, request, body]) => {
    expect(build(request)).toEqual(body);
  });

  it.for<[what: string, options: Partial<OpenAIResponsesOptions>, request: Partial<ModelRequest>, body: object]>([
    [
      "encrypted reasoning where nothing is stored",
      { include: undefined },
      {},
      { ...plain, include: ["reasoning.encrypted_content"] },
    ],
    ["nothing more where it is stored", { store: true, include: undefined }, {}, { ...plain, store: true }],
    ["what is to be sent besides", { include: ["a", "b"] }, {}, { ...plain, include: ["a", "b"] }],
    ["reasoning", { reasoning: { effort: "low" } }, {}, { ...plain, reasoning: { effort: "low" } }],
    [
      "tools of the service after the run's own",
      { serverTools: [search] },
      { tools: [weather] },
      { ...plain, tools: [wireTool, search] },
    ],
    [
      "only tools of the service",
      { serverTools: [search] },
      { toolChoice: "required" },
      { ...plain, tools: [search], tool_choice: "required" },
    ],
    [
      "a custom tool, which has no schema on the wire",
      { customTools: { weather: grammar } },
      { tools: [weather], toolChoice: { name: "weather" } },
      {
        ...plain,
        tools: [{ type: "custom", name: "weather", description: "Weather of a city", format: grammar }],
        tool_choice: { type: "custom", name: "weather" },
      },
    ],
    ["no custom tool that the run does not have", { customTools: { other: { type: "text" } } }, {}, plain],
  ])("obeys the options: %s", ([, options, request, body]) => {
    expect(build(request, options)).toEqual(body);
  });

  it("takes an own key __proto__ of extra as a field", () => {
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
