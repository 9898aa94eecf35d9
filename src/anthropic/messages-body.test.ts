import { describe, expect, it } from "vitest";
import type { AssistantPart } from "../core/kit.ts";
import type { Json, Message, ModelRequest, ToolDefinition } from "../core/index.ts";
import { createMarker } from "./cache-marks.ts";
import { createKeptThinking } from "./kept-thinking.ts";
import { buildMessagesBody, createMessageConverter } from "./messages-body.ts";
import { type AnthropicMessagesOptions, checkMessagesOptions } from "./messages-options.ts";

const client = { messages: { create: () => Promise.reject(new Error("not asked")) } };
const weather: ToolDefinition = {
  name: "weather",
  description: "Weather of a city",
  inputSchema: { type: "object", properties: {} },
  sequential: true,
};
const search = { type: "web_search_20250305", name: "web_search" };

function createBuild(options: Partial<AnthropicMessagesOptions> = {}, now = 0): (request: Partial<ModelRequest>) => object {
  const settings = checkMessagesOptions({ client, model: "m", ...options });
  const convert = createMessageConverter(settings);
  const mark = settings.cacheControl && createMarker(settings.cacheControl);
  return (request) =>
    buildMessagesBody(
      { messages: [{ role: "user", content: "hi" }], tools: [], iteration: 0, ...request },
      {
        settings,
        convert,
        mark,
        now,
        kept: createKeptThinking(),
        dropsUnfit: settings.dropsUnfit,
        refusesDisplay: false,
        report: () => {},
      },
    );
}

const build = (request: Partial<ModelRequest>, options?: Partial<AnthropicMessagesOptions>, now?: number): object =>
  createBuild(options, now)(request);

const text = (content: string): object => ({ type: "text", text: content });
const plain = { model: "m", max_tokens: 16_384, messages: [{ role: "user", content: [text("hi")] }], stream: true };
const wireTool = { name: "weather", description: "Weather of a city", input_schema: { type: "object", properties: {} } };
const user = (content: string): Message => ({ role: "user", content });
const turn = (...content: readonly AssistantPart[]): Message => ({ role: "assistant", content });
const thought = { type: "thinking", thinking: "", signature: "s" };
const call: AssistantPart = { type: "tool-call", callId: "a", name: "f", args: {} };
const answer: Message = { role: "tool", results: [{ callId: "a", name: "f", outcome: "completed", result: "ok" }] };
const held = (id: string): Message => ({
  role: "assistant",
  content: [{ type: "text", text: id }],
  providerMetadata: [{ provider: "anthropic", model: "m", item: { container: { id, expires_at: "2026-01-01T00:00:00Z" } } }],
});
const compactAt = (value: number, rest: object = {}): object => ({
  edits: [{ type: "compact_20260112", trigger: { type: "input_tokens", value }, ...rest }],
});

describe("anthropicMessages: the body of a request", () => {
  it.for<[what: string, request: Partial<ModelRequest>, body: object]>([
    ["only messages and required fields by default", {}, plain],
    ["a system prompt", { system: "Be brief." }, { ...plain, system: "Be brief." }],
    ["no system prompt if the prompt is blank", { system: " " }, plain],
    ["tools", { tools: [weather] }, { ...plain, tools: [wireTool] }],
    [
      'the tool choice "auto"',
      { tools: [weather], toolChoice: "auto" },
      { ...plain, tools: [wireTool], tool_choice: { type: "auto" } },
    ],
    [
      'the tool choice "required"',
      { tools: [weather], toolChoice: "required" },
      { ...plain, tools: [wireTool], tool_choice: { type: "any" } },
    ],
    [
      'tools even if the tool choice is "none"',
      { tools: [weather], toolChoice: "none" },
      { ...plain, tools: [wireTool], tool_choice: { type: "none" } },
    ],
    [
      "a tool choice that names one tool",
      { tools: [weather], toolChoice: { name: "weather" } },
      { ...plain, tools: [wireTool], tool_choice: { type: "tool", name: "weather" } },
    ],
    ["no tool choice if there are no tools", { toolChoice: "none" }, plain],
    [
      "every model setting except the seed",
      { settings: { maxOutputTokens: 9, temperature: 0, topP: 0.5, stopSequences: ["END"], seed: 7 } },
      { ...plain, max_tokens: 9, temperature: 0, top_p: 0.5, stop_sequences: ["END"] },
    ],
    ["no stop sequences if their list is empty", { settings: { stopSequences: [] } }, plain],
    [
      "the fields of settings.extra, which replace settings with the same name",
      { settings: { temperature: 1, extra: { temperature: 0, top_k: 5 } } },
      { ...plain, temperature: 0, top_k: 5 },
    ],
    ["stream: true even if settings.extra contains stream: false", { settings: { extra: { stream: false } } }, plain],
    [
      "one message in place of adjacent messages with the same role, with tool results first",
      { messages: [user("a"), user("b"), turn(call), answer, user("c"), turn(), user("d")] },
      {
        ...plain,
        messages: [
          { role: "user", content: [text("a"), text("b")] },
          { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "ok" }, text("c"), text("d")] },
        ],
      },
    ],
    [
      "a leading user message if the first message is from the assistant",
      { messages: [turn({ type: "text", text: "Hello" }), user("a")] },
      {
        ...plain,
        messages: [
          { role: "user", content: [text("(The conversation begins.)")] },
          { role: "assistant", content: [text("Hello")] },
          { role: "user", content: [text("a")] },
        ],
      },
    ],
    [
      "no message for a blank user message",
      { messages: [user("a"), user(" ")] },
      { ...plain, messages: [{ role: "user", content: [text("a")] }] },
    ],
  ])("contains %s", ([, request, body]) => {
    expect(build(request)).toEqual(body);
  });

  it("contains the options maxTokens, thinking and serverTools", () => {
    const options = { maxTokens: 9, thinking: { type: "adaptive" }, serverTools: [search] };
    const rest = { max_tokens: 9, thinking: { type: "adaptive" } };
    expect(build({}, options)).toEqual({ ...plain, ...rest, tools: [search] });
    expect(build({ tools: [weather] }, options)).toEqual({ ...plain, ...rest, tools: [wireTool, search] });
  });

  it("contains at most 4 cache breakpoints, on tools, system text and messages", () => {
    const cacheControl = { type: "ephemeral", ttl: "1h" };
    const messages = [user("a"), turn(call), answer, turn({ type: "text", text: "b" }), user("c")];
    const body = build({ system: "s", tools: [weather], messages }, { cache: { ttl: "1h" }, serverTools: [search] });
    const result = { type: "tool_result", tool_use_id: "a", content: "ok", cache_control: cacheControl };
    expect(body).toMatchObject({
      system: [{ ...text("s"), cache_control: cacheControl }],
      tools: [wireTool, { ...search, cache_control: cacheControl }],
      messages: [{}, {}, { content: [result] }, {}, { content: [{ ...text("c"), cache_control: cacheControl }] }],
    });
    expect(JSON.stringify(body).split("cache_control")).toHaveLength(5);
  });

  it.for<[what: string, messages: readonly Message[], thinks: boolean]>([
    ["a thinking budget after a user message", [user("a")], true],
    [
      "a thinking budget if a user message follows a message from another model",
      [user("a"), turn({ type: "text", text: "b" }), user("c")],
      true,
    ],
    ["no thinking budget after tool results for another model", [user("a"), turn(call), answer], false],
    [
      "no thinking budget if a user message follows tool results for another model",
      [user("a"), turn(call), answer, user("Context")],
      false,
    ],
    [
      "a thinking budget after tool results for this model",
      [
        user("a"),
        {
          role: "assistant",
          content: [call],
          providerMetadata: [
            { provider: "anthropic", model: "m", item: { content_block: thought } },
            { provider: "anthropic", model: "m", item: { content_block: { type: "tool_use", id: "a", name: "f", input: {} } } },
          ],
        },
        answer,
      ],
      true,
    ],
    [
      "no thinking budget after the results of a message without thinking, such as one with a forced call",
      [
        user("a"),
        {
          role: "assistant",
          content: [call],
          providerMetadata: [
            { provider: "anthropic", model: "m", item: { content_block: { type: "tool_use", id: "a", name: "f", input: {} } } },
          ],
        },
        answer,
      ],
      false,
    ],
  ])("contains %s", ([, messages, thinks]) => {
    const thinking = { type: "enabled", budget_tokens: 1_024 };
    expect(Reflect.get(build({ messages }, { thinking }), "thinking")).toEqual(thinks ? thinking : undefined);
    expect(Reflect.get(build({ messages }, { thinking: { type: "adaptive" } }), "thinking")).toEqual({ type: "adaptive" });
  });

  it.for<[what: string, extra: { readonly [field: string]: Json } | undefined, now: number, container: unknown]>([
    ["the last container of the conversation", undefined, 0, "c2"],
    ["no container if the last container has expired", undefined, Date.parse("2026-01-01T00:00:00Z"), undefined],
    ["the last container with the skills from settings.extra", { container: { skills: [] } }, 0, { skills: [], id: "c2" }],
    ["the container from settings.extra", { container: "own" }, 0, "own"],
    ["the container and skills from settings.extra", { container: { id: "own", skills: [] } }, 0, { id: "own", skills: [] }],
  ])("contains %s", ([, extra, now, container]) => {
    const messages = [user("a"), held("c1"), user("b"), held("c2"), user("c")];
    expect(Reflect.get(build({ messages, settings: { extra } }, {}, now), "container")).toEqual(container);
  });

  it("contains the transcript's last container, even if the sent messages have none", () => {
    const unsupported: Message = { role: "user", content: [{ type: "file", mediaType: "video/mp4", data: "eA==" }] };
    const transcript = { messages: [user("a"), held("c1"), unsupported], given: 1 };
    expect(build({ messages: [user("Summary")], transcript })).toMatchObject({ container: "c1" });
    expect(JSON.stringify(build({ messages: [unsupported] }))).toContain("video/mp4");
  });

  it.for<[what: string, options: Partial<AnthropicMessagesOptions>, request: Partial<ModelRequest>, field: unknown]>([
    ["the request's threshold", { compaction: true }, { compactAt: 160_000 }, compactAt(160_000)],
    ["the service's minimum threshold", { compaction: true }, { compactAt: 9_000 }, compactAt(50_000)],
    [
      "the instructions in the option",
      { compaction: { instructions: "Be brief." } },
      { compactAt: 50_001 },
      compactAt(50_001, { instructions: "Be brief." }),
    ],
    ["no threshold if the request has none", { compaction: true }, {}, undefined],
    ["no threshold without the compaction option", {}, { compactAt: 160_000 }, undefined],
    ["no threshold if the option is false", { compaction: false }, { compactAt: 160_000 }, undefined],
    [
      "context_management from settings.extra",
      { compaction: true },
      { compactAt: 160_000, settings: { extra: { context_management: { edits: [] } } } },
      { edits: [] },
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

  it("contains the same objects for the same tools and messages in every request", () => {
    const again = createBuild();
    const request = { messages: [user("a"), turn({ type: "text", text: "b" }), user("c")], tools: [weather] };
    const [first, second] = [again(request), again(request)];
    for (const field of ["tools", "messages"]) {
      expect(Reflect.get(second, field)[0]).toBe(Reflect.get(first, field)[0]);
      expect(Reflect.get(second, field)).not.toBe(Reflect.get(first, field));
    }
  });
});
