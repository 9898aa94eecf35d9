import { describe, expect, it } from "vitest";
import type { ModelRequest, ToolDefinition } from "../core/provider-kit.ts";
import { buildChatBody, createMessageConverter } from "./chat-body.ts";
import { type ChatRequestBody, checkChatOptions, type OpenAIChatOptions } from "./chat-options.ts";

const client = { chat: { completions: { create: () => Promise.reject(new Error("not asked")) } } };
const weather: ToolDefinition = {
  name: "weather",
  description: "Weather of a city",
  inputSchema: { type: "object" },
  sequential: true,
};

function build(request: Partial<ModelRequest>, options: Partial<OpenAIChatOptions> = {}): ChatRequestBody {
  const settings = checkChatOptions({ client, model: "m", ...options });
  return buildChatBody(
    { messages: [{ role: "user", content: "hi" }], tools: [], iteration: 0, ...request },
    settings,
    createMessageConverter(settings),
  );
}

const plain = { model: "m", messages: [{ role: "user", content: "hi" }], stream: true, stream_options: { include_usage: true } };
const wireTool = {
  type: "function",
  function: { name: "weather", description: "Weather of a city", parameters: { type: "object" } },
};

describe("buildChatBody", () => {
  it.for<[what: string, request: Partial<ModelRequest>, body: object]>([
    ["messages alone", {}, plain],
    [
      "a system text",
      { system: "Be brief." },
      {
        ...plain,
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "hi" },
        ],
      },
    ],
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
      { ...plain, tools: [wireTool], tool_choice: { type: "function", function: { name: "weather" } } },
    ],
    ["no tool choice without tools", { toolChoice: "none" }, plain],
    [
      "all settings",
      { settings: { maxOutputTokens: 9, temperature: 0, topP: 0.5, stopSequences: ["END"], seed: 7 } },
      { ...plain, max_completion_tokens: 9, temperature: 0, top_p: 0.5, stop: ["END"], seed: 7 },
    ],
    ["no empty list of stop sequences", { settings: { stopSequences: [] } }, plain],
    [
      "extra fields",
      { settings: { temperature: 1, extra: { temperature: 0, reasoning_effort: "low" } } },
      { ...plain, temperature: 0, reasoning_effort: "low" },
    ],
    ["stream: true whatever the extra fields contain", { settings: { extra: { stream: false, n: 1 } } }, { ...plain, n: 1 }],
  ])("builds a body with %s", ([, request, body]) => {
    expect(build(request)).toEqual(body);
  });

  it.for<[what: string, options: Partial<OpenAIChatOptions>, body: object]>([
    [
      "no stream_options with includeUsage: false",
      { includeUsage: false },
      { model: "m", messages: plain.messages, stream: true, max_tokens: 9 },
    ],
    ["max_tokens as maxTokensField", {}, { ...plain, max_tokens: 9 }],
  ])("builds a body with %s", ([, options, body]) => {
    expect(build({ settings: { maxOutputTokens: 9 } }, { maxTokensField: "max_tokens", ...options })).toEqual(body);
  });

  it("sends an extra field named __proto__ without changing the prototype", () => {
    const body = build({ settings: { extra: JSON.parse('{"__proto__":{"polluted":true}}') } });
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
    expect(Object.hasOwn(body, "__proto__")).toBe(true);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  it("converts a tool definition once", () => {
    const first = Reflect.get(build({ tools: [weather] }), "tools");
    const second = Reflect.get(build({ tools: [weather] }), "tools");
    expect(second[0]).toBe(first[0]);
  });

  it("reuses converted messages in the next request", () => {
    const settings = checkChatOptions({ client, model: "m" });
    const toMessages = createMessageConverter(settings);
    const request: ModelRequest = {
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: [] },
        { role: "user", content: "b" },
      ],
      tools: [],
      iteration: 0,
    };
    const [first, second] = [buildChatBody(request, settings, toMessages), buildChatBody(request, settings, toMessages)];
    expect(first.messages).toEqual([
      { role: "user", content: "a" },
      { role: "user", content: "b" },
    ]);
    expect(second.messages[0]).toBe(first.messages[0]);
    expect(second.messages).not.toBe(first.messages);
  });
});
