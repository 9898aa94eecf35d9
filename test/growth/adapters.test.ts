import { expect, it } from "vitest";
import type { Message, Provider } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, openaiResponses } from "turnwright/openai";
import { createTestClock } from "turnwright/testing";
import { checkBody } from "../../src/shared/adapters/open-answer.ts";
import { ask, createCall } from "../wire/provider-iteration.ts";
import { collect, streamScript } from "../wire/scripted-stream.ts";
import { growthOf, maxGrowth } from "./measure.ts";
import type { Row } from "./rows.ts";

type Event = (index: number, size: number) => object;

const many = (size: number, event: Event): object[] => Array.from({ length: size }, (_, index) => event(index, size));

interface Script {
  readonly before?: readonly object[];
  readonly event: Event;
  readonly after?: readonly object[];
}

interface Adapter {
  readonly name: string;
  provider(stream: () => AsyncIterable<unknown>): Provider;
  readonly end: readonly object[];
  readonly scripts: { readonly [what: string]: Script };
}

const chatDelta = (delta: object): object => ({ choices: [{ index: 0, delta }] });
const chatCall = (index: number, fields: object): object => chatDelta({ tool_calls: [{ index, ...fields }] });

const chat: Adapter = {
  name: "openaiChat",
  provider: (stream) => openaiChat({ client: { chat: { completions: { create: async () => stream() } } }, model: "m" }),
  end: [{ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }],
  scripts: {
    "chunks of text": { event: () => chatDelta({ content: "x" }) },
    "chunks of empty text": { event: () => chatDelta({ content: "" }) },
    "chunks of reasoning": { event: () => chatDelta({ reasoning_content: "x" }) },
    "fragments of one reasoning detail": {
      event: () => chatDelta({ reasoning_details: [{ type: "reasoning.text", text: "x", index: 0 }] }),
    },
    "separate reasoning details": {
      event: (index) => chatDelta({ reasoning_details: [{ type: "reasoning.encrypted", data: "x", index }] }),
    },
    "fragments of the arguments of one call": {
      before: [chatCall(0, { id: "c", function: { name: "f", arguments: '{"a":"' } })],
      event: () => chatCall(0, { function: { arguments: "x" } }),
      after: [chatCall(0, { function: { arguments: '"}' } })],
    },
    calls: { event: (index) => chatCall(index, { id: `c${index}`, function: { name: "f", arguments: "{}" } }) },
    "calls with the same id": {
      event: (index) => chatCall(index, { id: "c", function: { name: "f", arguments: `{"n":${index}}` } }),
    },
    "calls without an index": {
      event: (index) => chatDelta({ tool_calls: [{ id: `c${index}`, function: { name: "f", arguments: "{}" } }] }),
    },
  },
};

const item = (index: number, fields: object): object => ({ output_index: index, item_id: `i${index}`, ...fields });
const functionCall = (index: number, args: string): object => ({
  type: "function_call",
  id: `i${index}`,
  call_id: `c${index}`,
  name: "f",
  arguments: args,
});

const responses: Adapter = {
  name: "openaiResponses",
  provider: (stream) => openaiResponses({ client: { responses: { create: async () => stream() } }, model: "m" }),
  end: [{ type: "response.completed", response: { status: "completed", output: [] } }],
  scripts: {
    "deltas of one text": { event: () => item(0, { type: "response.output_text.delta", delta: "x" }) },
    "items with one text delta each": { event: (index) => item(index, { type: "response.output_text.delta", delta: "x" }) },
    "text parts of one item": {
      event: (index) => item(0, { type: "response.output_text.delta", content_index: index, delta: "x" }),
    },
    "deltas of one reasoning part": {
      event: () => item(0, { type: "response.reasoning_summary_text.delta", summary_index: 0, delta: "x" }),
    },
    "reasoning parts": {
      event: (index) => item(0, { type: "response.reasoning_summary_text.delta", summary_index: index, delta: "x" }),
    },
    "deltas of the arguments of one call": {
      before: [item(0, { type: "response.output_item.added", item: functionCall(0, "") })],
      event: () => item(0, { type: "response.function_call_arguments.delta", delta: " " }),
      after: [item(0, { type: "response.output_item.done", item: functionCall(0, "{}") })],
    },
    calls: { event: (index) => item(index, { type: "response.output_item.done", item: functionCall(index, "{}") }) },
  },
};

const block = (index: number, delta: object): object => ({ type: "content_block_delta", index, delta });
const blockOf = (index: number, content: object): object => ({ type: "content_block_start", index, content_block: content });

const anthropic: Adapter = {
  name: "anthropicMessages",
  provider: (stream) => anthropicMessages({ client: { messages: { create: async () => stream() } }, model: "m" }),
  end: [{ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } }, { type: "message_stop" }],
  scripts: {
    "deltas of one text": {
      before: [blockOf(0, { type: "text", text: "" })],
      event: () => block(0, { type: "text_delta", text: "x" }),
    },
    "deltas of thinking": {
      before: [blockOf(0, { type: "thinking", thinking: "", signature: "" })],
      event: () => block(0, { type: "thinking_delta", thinking: "x" }),
    },
    citations: {
      before: [blockOf(0, { type: "text", text: "" })],
      event: () => block(0, { type: "citations_delta", citation: { type: "char_location", cited_text: "x" } }),
    },
    "deltas of the arguments of one call": {
      before: [blockOf(0, { type: "tool_use", id: "c", name: "f", input: {} })],
      event: () => block(0, { type: "input_json_delta", partial_json: " " }),
      after: [block(0, { type: "input_json_delta", partial_json: "{}" }), { type: "content_block_stop", index: 0 }],
    },
    calls: { event: (index) => blockOf(index, { type: "tool_use", id: `c${index}`, name: "f", input: {} }) },
    "calls with the same id": { event: (index) => blockOf(index, { type: "tool_use", id: "c", name: "f", input: { index } }) },
    "repetitions of one call": { event: (index) => blockOf(index, { type: "tool_use", id: "c", name: "f", input: {} }) },
    "text blocks": { event: (index) => blockOf(index, { type: "text", text: "x" }) },
  },
};

const parts = (...said: readonly object[]): object => ({ candidates: [{ content: { parts: said } }] });

const google: Adapter = {
  name: "googleGenerateContent",
  provider: (stream) =>
    googleGenerateContent({ client: { models: { generateContentStream: async () => stream() } }, model: "m" }),
  end: [{ candidates: [{ finishReason: "STOP" }] }],
  scripts: {
    "text parts": { event: () => parts({ text: "x" }) },
    "thought parts": { event: () => parts({ text: "x", thought: true }) },
    "text parts with signatures": { event: (index) => parts({ text: "x", thoughtSignature: `s${index}` }) },
    calls: { event: () => parts({ functionCall: { name: "f", args: {} } }) },
    "calls with the same id": { event: (index) => parts({ functionCall: { id: "c", name: "f", args: { index } } }) },
    "fragments of the arguments of one call": {
      before: [parts({ functionCall: { id: "c", name: "f", willContinue: true } })],
      event: () =>
        parts({ functionCall: { partialArgs: [{ jsonPath: "$.a", stringValue: "x", willContinue: true }], willContinue: true } }),
    },
  },
};

/** Creates each part when it is read. If all parts were in memory, the test would measure garbage collection. */
function pullFrom(parts: AsyncIterable<unknown>): ReadableStream<unknown> {
  const iterator = parts[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}

const sdk: Adapter = {
  name: "aiSdkModel",
  provider: (stream) =>
    aiSdkModel({
      model: {
        specificationVersion: "v3",
        provider: "p",
        modelId: "m",
        supportedUrls: {},
        doStream: async () => ({
          stream: pullFrom(stream()),
        }),
      },
    }),
  end: [
    {
      type: "finish",
      finishReason: { unified: "stop", raw: "stop" },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
    },
  ],
  scripts: {
    "deltas of one text": {
      before: [{ type: "text-start", id: "0" }],
      event: () => ({ type: "text-delta", id: "0", delta: "x" }),
    },
    "separate texts": { event: (index) => ({ type: "text-delta", id: String(index), delta: "x" }) },
    "deltas of reasoning": {
      before: [{ type: "reasoning-start", id: "0" }],
      event: () => ({ type: "reasoning-delta", id: "0", delta: "x" }),
    },
    calls: { event: (index) => ({ type: "tool-call", toolCallId: `c${index}`, toolName: "f", input: "{}" }) },
    "deltas of the arguments of one call": {
      before: [{ type: "tool-input-start", id: "c", toolName: "f" }],
      event: () => ({ type: "tool-input-delta", id: "c", delta: " " }),
      after: [{ type: "tool-call", toolCallId: "c", toolName: "f", input: "{}" }],
    },
  },
};

const adapters: readonly Row[] = [chat, responses, anthropic, google, sdk].flatMap(({ name, provider, end, scripts }) =>
  Object.entries(scripts).map(([what, { before = [], event, after = [] }]): Row => [
    `${name}: reads many ${what}`,
    2_000,
    (size) => {
      const events = [...before, ...many(size, event), ...after, ...end];
      const source = provider(() => streamScript(events));
      return () => collect(source.stream(ask("hi"), createCall()));
    },
  ]),
);

const user = (index: number): Message => ({ role: "user", content: `q${index}` });
const results = (index: number): Message => ({
  role: "tool",
  results: [{ callId: `c${index}`, name: "f", outcome: "completed", result: index }],
});

const requests: readonly Row[] = [chat, responses, anthropic, google, sdk].flatMap(({ name, provider, end }) =>
  Object.entries({ "user messages": user, "tool results": results }).map(([what, message]): Row => [
    `${name}: sends many ${what}`,
    3_000,
    (size) => {
      const source = provider(() => streamScript([...end]));
      const messages = Array.from({ length: size }, (_, index) => message(index));
      return () => collect(source.stream({ ...ask("hi"), messages }, createCall()));
    },
  ]),
);

const blanks: Row = [
  "checkBody: reads a response body of blanks",
  1_000,
  (size) => {
    let left = size;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        left -= 1;
        if (left < 0) controller.close();
        else controller.enqueue(new Uint8Array(16).fill(32));
      },
    });
    return () => checkBody(new Response(body), { clock: createTestClock(), toEvents: () => undefined }).catch(() => undefined);
  },
];

it.for<Row>([...adapters, ...requests, blanks])("%s in linear time", async ([, size, prepare]) => {
  expect(await growthOf(prepare, size)).toBeLessThan(maxGrowth);
});
