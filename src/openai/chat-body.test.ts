import { describe, expect, it } from "vitest";
import type { ModelRequest, ToolDefinition } from "../core/index.ts";
import { buildChatBody, createMessageConverter } from "./chat-body.ts";
import { type ChatRequestBody, checkChatOptions, type OpenAIChatOptions } from "./chat-options.ts";

const client = { chat: { completions: { create: () => Promise.reject(new Error("not asked")) } } };
const weather: ToolDefinition = {
  name: "weather",
  description: "Weather of a city",
  inputSchema: { type: "object", properties: {} },
  sequential: true,
};

function build(request: Partial<ModelRequest>, options: Partial<OpenAIChatOptions> = {}): ChatRequestBody {
  const settings = checkChatOptions({ client, model: "m", ...options });
  return buildChatBody(
    { messages: [{ role: "user", content: "hi" }], tools: [], iteration: 0, ...request },
    { settings, toMessages: createMessageConverter(settings), report: () => {} },
  );
}

const plain = { model: "m", messages: [{ role: "user", content: "hi" }], stream: true, stream_options: { include_usage: true } };
const wireTool = {
  type: "function",
  function: { name: "weather", description: "Weather of a city", parameters: { type: "object", properties: {} } },
};

describe("openaiChat: the body of a request", () => {
  it.for<[what: string, request: Partial<ModelRequest>, body: object]>([
    ["only messages and required fields by default", {}, plain],
    [
      "a system prompt",
      { system: "Be brief." },
      {
        ...plain,
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "hi" },
        ],
      },
    ],
    ["no system message if the system prompt is empty", { system: "" }, plain],
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
      { ...plain, tools: [wireTool], tool_choice: { type: "function", function: { name: "weather" } } },
    ],
    ["no tool choice if there are no tools", { toolChoice: "none" }, plain],
    [
      "every model setting",
      { settings: { maxOutputTokens: 9, temperature: 0, topP: 0.5, stopSequences: ["END"], seed: 7 } },
      { ...plain, max_completion_tokens: 9, temperature: 0, top_p: 0.5, stop: ["END"], seed: 7 },
    ],
    ["no stop sequences if their list is empty", { settings: { stopSequences: [] } }, plain],
    [
      "the fields of settings.extra, which replace settings with the same name",
      { settings: { temperature: 1, extra: { temperature: 0, reasoning_effort: "low" } } },
      { ...plain, temperature: 0, reasoning_effort: "low" },
    ],
    [
      "stream: true unless settings.extra contains stream: false",
      { settings: { extra: { stream: "no", n: 1 } } },
      { ...plain, n: 1 },
    ],
  ])("contains %s", ([, request, body]) => {
    expect(build(request)).toEqual(body);
  });

  it.for<[what: string, options: Partial<OpenAIChatOptions>, body: object]>([
    [
      "no stream_options if includeUsage is false",
      { includeUsage: false },
      { model: "m", messages: plain.messages, stream: true, max_tokens: 9 },
    ],
    ["the prompt cache key", { promptCacheKey: "agent-1" }, { ...plain, max_tokens: 9, prompt_cache_key: "agent-1" }],
    ["the output limit in the field that maxTokensField names", {}, { ...plain, max_tokens: 9 }],
  ])("contains %s", ([, options, body]) => {
    expect(build({ settings: { maxOutputTokens: 9 } }, { maxTokensField: "max_tokens", ...options })).toEqual(body);
  });

  it("contains a field named __proto__ from settings.extra as plain data", () => {
    const body = build({ settings: { extra: JSON.parse('{"__proto__":{"polluted":true}}') } });
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
    expect(Object.hasOwn(body, "__proto__")).toBe(true);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  it("contains the same object for the same tool definition in every request", () => {
    const first = Reflect.get(build({ tools: [weather] }), "tools");
    const second = Reflect.get(build({ tools: [weather] }), "tools");
    expect(second[0]).toBe(first[0]);
  });

  it("contains the same object for the same message in every request", () => {
    const settings = checkChatOptions({ client, model: "m" });
    const ports = { settings, toMessages: createMessageConverter(settings), report: () => {} };
    const request: ModelRequest = {
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: [] },
        { role: "user", content: "b" },
      ],
      tools: [],
      iteration: 0,
    };
    const [first, second] = [buildChatBody(request, ports), buildChatBody(request, ports)];
    expect(first.messages).toEqual([
      { role: "user", content: "a" },
      { role: "user", content: "b" },
    ]);
    expect(second.messages[0]).toBe(first.messages[0]);
    expect(second.messages).not.toBe(first.messages);
  });
});
