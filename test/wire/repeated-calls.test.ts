import { describe, expect, it } from "vitest";
import { defineTool, type Provider, runToolLoop } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, openaiResponses } from "turnwright/openai";

type Event = { readonly [field: string]: unknown };

async function* streamOf(events: readonly Event[]): AsyncGenerator<Event> {
  yield* events;
}

async function run(provider: Provider): Promise<{ readonly ran: readonly unknown[]; readonly kept: number }> {
  const ran: unknown[] = [];
  const pay = defineTool({
    name: "pay",
    description: "",
    inputSchema: { type: "object" },
    execute: (args) => void ran.push(args),
  });
  const messages = [{ role: "user" as const, content: "Go." }];
  const result = await runToolLoop({ provider, tools: [pay], messages, limits: { maxIterations: 1 } });
  const [turn] = result.messages.filter(({ role }) => role === "assistant");
  const calls = JSON.stringify(turn?.role === "assistant" ? (turn.providerMetadata ?? []) : []).match(
    /"(?:name|toolName)":"pay"/g,
  );
  return { ran, kept: calls?.length ?? 0 };
}

const google = (events: readonly Event[]): Provider =>
  googleGenerateContent({ client: { models: { generateContentStream: async () => streamOf(events) } }, model: "m" });
const anthropic = (events: readonly Event[]): Provider =>
  anthropicMessages({ client: { messages: { create: async () => streamOf(events) } }, model: "m", maxTokens: 9 });
const chat = (events: readonly Event[]): Provider =>
  openaiChat({ client: { chat: { completions: { create: async () => streamOf(events) } } }, model: "m" });
const responses = (events: readonly Event[]): Provider =>
  openaiResponses({ client: { responses: { create: async () => streamOf(events) } }, model: "m" });
const streamOfParts = (events: readonly Event[]): ReadableStream<Event> =>
  new ReadableStream({
    start(controller) {
      for (const event of events) controller.enqueue(event);
      controller.close();
    },
  });
const sdk = (events: readonly Event[]): Provider =>
  aiSdkModel({
    model: {
      specificationVersion: "v2",
      provider: "p",
      modelId: "m",
      supportedUrls: {},
      doStream: async () => ({ stream: streamOfParts(events) }),
    },
  });

const candidate = (parts: readonly Event[], finishReason?: string): Event => ({
  candidates: [{ content: { role: "model", parts }, finishReason }],
});
const part = (args: Event, id?: string): Event => ({ functionCall: { id, name: "pay", args } });
const inPieces = (value: number): readonly Event[] => [
  candidate([{ functionCall: { id: "a", name: "pay", willContinue: true } }]),
  candidate([{ functionCall: { partialArgs: [{ jsonPath: "$.n", numberValue: value }], willContinue: true } }]),
  candidate([{ functionCall: {} }]),
];

const block = (index: number, json: string, id = "a"): readonly Event[] => [
  { type: "content_block_start", index, content_block: { type: "tool_use", id, name: "pay", input: {} } },
  { type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: json } },
  { type: "content_block_stop", index },
];
const blockEnd: readonly Event[] = [{ type: "message_delta", delta: { stop_reason: "tool_use" } }, { type: "message_stop" }];

const delta = (fields: Event, reason: string | null = null): Event => ({
  choices: [{ index: 0, delta: fields, finish_reason: reason }],
});
const chatCall = (index: number, args: string): Event =>
  delta({ tool_calls: [{ index, id: "a", function: { name: "pay", arguments: args } }] });
const chatPiece = (index: number, args: string): Event => delta({ tool_calls: [{ index, function: { arguments: args } }] });
const chatEnd = delta({}, "tool_calls");

const item = (place: number, args: string): Event => ({
  type: "response.output_item.done",
  output_index: place,
  item: { id: `fc_${place}`, type: "function_call", call_id: "a", name: "pay", arguments: args },
});
const itemEnd: Event = { type: "response.completed", response: { status: "completed" } };

const input = (args: string): readonly Event[] => [
  { type: "tool-input-start", id: "a", toolName: "pay" },
  { type: "tool-input-delta", id: "a", delta: args },
  { type: "tool-input-end", id: "a" },
];
const sdkCall = (args: string): Event => ({ type: "tool-call", toolCallId: "a", toolName: "pay", input: args });
const sdkEnd: Event = { type: "finish", finishReason: "tool-calls", usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } };

const one = '{"n":1,"m":2}';
const spaced = '{ "m": 2, "n": 1 }';

describe("a tool call that arrives twice in one stream", () => {
  it.for<[what: string, provider: Provider]>([
    ["Google API in two chunks", google([candidate([part({ n: 1 }, "a")]), candidate([part({ n: 1 }, "a")], "STOP")])],
    [
      "Google API in chunks that repeat all earlier parts",
      google([candidate([{ text: "x" }, part({ n: 1 }, "a")]), candidate([{ text: "x" }, part({ n: 1 }, "a")], "STOP")]),
    ],
    [
      "Google API with the argument keys in a different order",
      google([candidate([part({ n: 1, m: 2 }, "a"), part({ m: 2, n: 1 }, "a")], "STOP")]),
    ],
    ["Google API in pieces", google([...inPieces(1), ...inPieces(1), candidate([], "STOP")])],
    ["Google API first in pieces and then complete", google([...inPieces(1), candidate([part({ n: 1 }, "a")], "STOP")])],
    ["Messages API under the same index", anthropic([...block(0, one), ...block(0, one), ...blockEnd])],
    ["Messages API under two indexes", anthropic([...block(0, one), ...block(1, spaced), ...blockEnd])],
    ["Chat Completions API with different whitespace", chat([chatCall(0, one), chatCall(0, spaced), chatEnd])],
    ["Chat Completions API under two indexes", chat([chatCall(0, one), chatCall(1, spaced), chatEnd])],
    [
      "Chat Completions API in pieces under two indexes",
      chat([chatCall(0, one), chatCall(1, ""), chatPiece(1, one.slice(0, 5)), chatPiece(1, one.slice(5)), chatEnd]),
    ],
    ["Responses API with different whitespace", responses([item(0, one), item(1, spaced), itemEnd])],
    ["AI SDK with different whitespace", sdk([sdkCall(one), sdkCall(spaced), sdkEnd])],
    ["AI SDK in pieces", sdk([...input(one), sdkCall(one), ...input(one), sdkCall(one), sdkEnd])],
  ])("runs once if sent by the %s", async ([what, provider]) => {
    const { ran, kept } = await run(provider);
    expect(ran).toHaveLength(1);
    // The adapter for Chat Completions keeps no provider metadata for calls.
    expect(kept).toBe(what.startsWith("Chat") ? 0 : 1);
  });
});

describe("two different tool calls in one stream", () => {
  it.for<[what: string, provider: Provider]>([
    ["Google API without ids", google([candidate([part({ n: 1 })]), candidate([part({ n: 1 })], "STOP")])],
    [
      "Google API with the same id and different arguments",
      google([candidate([part({ n: 1 }, "a"), part({ n: 2 }, "a")], "STOP")]),
    ],
    [
      "Google API in pieces with the same id and different arguments",
      google([...inPieces(1), ...inPieces(2), candidate([], "STOP")]),
    ],
    [
      "Messages API with the same id and different arguments",
      anthropic([...block(0, '{"n":1}'), ...block(1, '{"n":2}'), ...blockEnd]),
    ],
    ["Messages API with two ids and the same arguments", anthropic([...block(0, one), ...block(1, one, "b"), ...blockEnd])],
    [
      "Chat Completions API with the same id and different arguments",
      chat([chatCall(0, '{"n":1}'), chatCall(1, '{"n":2}'), chatEnd]),
    ],
    [
      "AI SDK with the same id and different arguments",
      sdk([...input("{}"), sdkCall("{}"), ...input(one), sdkCall(one), sdkEnd]),
    ],
  ])("both run if sent by the %s", async ([, provider]) => {
    expect((await run(provider)).ran).toHaveLength(2);
  });
});

it("googleGenerateContent: uses only the first of several candidates without an index", async () => {
  const second = { content: { role: "model", parts: [part({ n: 2 }, "b")] }, finishReason: "STOP" };
  const events = [{ candidates: [{ content: { role: "model", parts: [part({ n: 1 }, "a")] } }, second] }, candidate([], "STOP")];
  expect((await run(google(events))).ran).toEqual([{ n: 1 }]);
});
