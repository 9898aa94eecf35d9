import { describe, expect, it } from "vitest";
import type { ModelRequest, ToolDefinition } from "../core/index.ts";
import { buildResponsesBody, createInputConverter, createToolConverter } from "./responses-body.ts";
import { checkResponsesOptions, type OpenAIResponsesOptions, type ResponsesRequestBody } from "./responses-options.ts";

const client = { responses: { create: () => Promise.reject(new Error("not asked")) } };
const weather: ToolDefinition = {
  name: "weather",
  description: "Weather of a city",
  inputSchema: { type: "object", properties: {} },
  sequential: true,
};
const question = { messages: [{ role: "user" as const, content: "hi" }], tools: [], iteration: 0 };

function build(request: Partial<ModelRequest>, options: Partial<OpenAIResponsesOptions> = {}): ResponsesRequestBody {
  const settings = checkResponsesOptions({ client, model: "m", include: [], ...options });
  const ports = { settings, toInput: createInputConverter(settings), toTool: createToolConverter(settings), report: () => {} };
  return buildResponsesBody({ ...question, ...request }, ports);
}

const plain = { model: "m", input: [{ role: "user", content: "hi" }], store: false, stream: true };
const wireTool = {
  type: "function",
  name: "weather",
  description: "Weather of a city",
  parameters: { type: "object", properties: {} },
  strict: false,
};
const search = { type: "web_search" };
const grammar = { type: "grammar", syntax: "regex", definition: "[a-z]+" } as const;
const compactAt = (compact_threshold: number): object[] => [{ type: "compaction", compact_threshold }];

describe("openaiResponses: the body of a request", () => {
  it.for<[what: string, request: Partial<ModelRequest>, body: object]>([
    ["only messages and required fields by default", {}, plain],
    ["a system prompt", { system: "Be brief." }, { ...plain, instructions: "Be brief." }],
    ["no instructions if the system prompt is empty", { system: "" }, plain],
    ["tools", { tools: [weather] }, { ...plain, tools: [wireTool] }],
    ['the tool choice "auto"', { tools: [weather], toolChoice: "auto" }, { ...plain, tools: [wireTool], tool_choice: "auto" }],
    [
      'the tool choice "required"',
      { tools: [weather], toolChoice: "required" },
      { ...plain, tools: [wireTool], tool_choice: "required" },
    ],
    [
      'tools even if the tool choice is "none"',
      { tools: [weather], toolChoice: "none" },
      { ...plain, tools: [wireTool], tool_choice: "none" },
    ],
    [
      "a tool choice that names one tool",
      { tools: [weather], toolChoice: { name: "weather" } },
      { ...plain, tools: [wireTool], tool_choice: { type: "function", name: "weather" } },
    ],
    ["no tool choice if there are no tools", { toolChoice: "none" }, plain],
    [
      "every model setting except stopSequences and seed",
      { settings: { maxOutputTokens: 9, temperature: 0, topP: 0.5, stopSequences: ["END"], seed: 7 } },
      { ...plain, max_output_tokens: 9, temperature: 0, top_p: 0.5 },
    ],
    [
      "the fields of settings.extra, which replace settings with the same name",
      { settings: { temperature: 1, extra: { temperature: 0, service_tier: "flex", store: true } } },
      { ...plain, temperature: 0, service_tier: "flex", store: true },
    ],
    [
      "stream: true unless settings.extra contains stream: false",
      { settings: { extra: { stream: "no", n: 1 } } },
      { ...plain, n: 1 },
    ],
  ])("contains %s", ([, request, body]) => {
    expect(build(request)).toEqual(body);
  });

  it.for<[what: string, options: Partial<OpenAIResponsesOptions>, request: Partial<ModelRequest>, body: object]>([
    [
      "encrypted reasoning if responses are not stored",
      { include: undefined },
      {},
      { ...plain, include: ["reasoning.encrypted_content"] },
    ],
    ["no `include` field if responses are stored", { store: true, include: undefined }, {}, { ...plain, store: true }],
    ["the include option", { include: ["a", "b"] }, {}, { ...plain, include: ["a", "b"] }],
    ["the prompt cache key", { promptCacheKey: "agent-1" }, {}, { ...plain, prompt_cache_key: "agent-1" }],
    ["the reasoning option", { reasoning: { effort: "low" } }, {}, { ...plain, reasoning: { effort: "low" } }],
    [
      "server tools after the run's tools",
      { serverTools: [search] },
      { tools: [weather] },
      { ...plain, tools: [wireTool, search] },
    ],
    [
      "server tools if the run has no tools",
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
    ["no entry of customTools whose tool the run does not have", { customTools: { other: { type: "text" } } }, {}, plain],
  ])("contains %s", ([, options, request, body]) => {
    expect(build(request, options)).toEqual(body);
  });

  it.for<[what: string, options: Partial<OpenAIResponsesOptions>, request: Partial<ModelRequest>, field: unknown]>([
    ["the request's threshold", { compaction: true }, { compactAt: 160_000 }, compactAt(160_000)],
    ["the service's minimum threshold", { compaction: true }, { compactAt: 9 }, compactAt(1_000)],
    ["no threshold if the request has none", { compaction: true }, {}, undefined],
    ["no threshold without the compaction option", {}, { compactAt: 160_000 }, undefined],
    ["no threshold if the option is false", { compaction: false }, { compactAt: 160_000 }, undefined],
    [
      "context_management from settings.extra",
      { compaction: true },
      { compactAt: 160_000, settings: { extra: { context_management: null } } },
      null,
    ],
  ])("contains, for compaction by the service, %s", ([, options, request, field]) => {
    expect(Reflect.get(build(request, options), "context_management")).toEqual(field);
  });

  it("contains a field named __proto__ from settings.extra as plain data", () => {
    const body = build({ settings: { extra: JSON.parse('{"__proto__":{"polluted":true}}') } });
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
    expect(Object.hasOwn(body, "__proto__")).toBe(true);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  it("contains the same object for the same tool definition in every request", () => {
    const toTool = createToolConverter({ customTools: new Map(), searchesTools: false });
    expect(toTool(weather)).toBe(toTool(weather));
    expect(toTool({ ...weather })).not.toBe(toTool(weather));
  });
});
