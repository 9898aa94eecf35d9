// Readers of streams, and whole runs, on streams of very many chunks.

import { expect, it } from "vitest";
import {
  createResultCache,
  defineTool,
  type LoopOptions,
  type Message,
  type ModelChunk,
  type Provider,
  runToolLoop,
  truncateResults,
  withFallback,
  withRetry,
} from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, openaiResponses } from "turnwright/openai";
import { withTracing } from "turnwright/otel";
import { withPlanner } from "turnwright/plan";
import { memoryCassette, recordTo, replayFrom } from "turnwright/testing";
import { ask, createCall } from "../wire/provider-pass.ts";
import { collect, streamScript } from "../wire/scripted-stream.ts";
import { growthOf, mostGrowth, type Prepare } from "./measure.ts";

type Row = readonly [what: string, size: number, prepare: Prepare];

/** An event of a stream, by its number and the number of all. */
type Event = (index: number, size: number) => object;

const many = (size: number, event: Event): object[] => Array.from({ length: size }, (_, index) => event(index, size));

/** What a wire streams: the events around so many of one kind. */
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
    text: { event: () => chatDelta({ content: "x" }) },
    blanks: { event: () => chatDelta({ content: "" }) },
    reasoning: { event: () => chatDelta({ reasoning_content: "x" }) },
    "details of reasoning": { event: () => chatDelta({ reasoning_details: [{ type: "reasoning.text", text: "x", index: 0 }] }) },
    "separate details of reasoning": {
      event: (index) => chatDelta({ reasoning_details: [{ type: "reasoning.encrypted", data: "x", index }] }),
    },
    "arguments of one call": {
      before: [chatCall(0, { id: "c", function: { name: "f", arguments: '{"a":"' } })],
      event: () => chatCall(0, { function: { arguments: "x" } }),
      after: [chatCall(0, { function: { arguments: '"}' } })],
    },
    calls: { event: (index) => chatCall(index, { id: `c${index}`, function: { name: "f", arguments: "{}" } }) },
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
    text: { event: () => item(0, { type: "response.output_text.delta", delta: "x" }) },
    "texts of many items": { event: (index) => item(index, { type: "response.output_text.delta", delta: "x" }) },
    "parts of one item": {
      event: (index) => item(0, { type: "response.output_text.delta", content_index: index, delta: "x" }),
    },
    reasoning: { event: () => item(0, { type: "response.reasoning_summary_text.delta", summary_index: 0, delta: "x" }) },
    "parts of reasoning": {
      event: (index) => item(0, { type: "response.reasoning_summary_text.delta", summary_index: index, delta: "x" }),
    },
    "arguments of one call": {
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
    text: { before: [blockOf(0, { type: "text", text: "" })], event: () => block(0, { type: "text_delta", text: "x" }) },
    thinking: {
      before: [blockOf(0, { type: "thinking", thinking: "", signature: "" })],
      event: () => block(0, { type: "thinking_delta", thinking: "x" }),
    },
    citations: {
      before: [blockOf(0, { type: "text", text: "" })],
      event: () => block(0, { type: "citations_delta", citation: { type: "char_location", cited_text: "x" } }),
    },
    "arguments of one call": {
      before: [blockOf(0, { type: "tool_use", id: "c", name: "f", input: {} })],
      event: () => block(0, { type: "input_json_delta", partial_json: " " }),
      after: [block(0, { type: "input_json_delta", partial_json: "{}" }), { type: "content_block_stop", index: 0 }],
    },
    calls: { event: (index) => blockOf(index, { type: "tool_use", id: `c${index}`, name: "f", input: {} }) },
    blocks: { event: (index) => blockOf(index, { type: "text", text: "x" }) },
  },
};

const parts = (...said: readonly object[]): object => ({ candidates: [{ content: { parts: said } }] });

const google: Adapter = {
  name: "googleGenerateContent",
  provider: (stream) =>
    googleGenerateContent({ client: { models: { generateContentStream: async () => stream() } }, model: "m" }),
  end: [{ candidates: [{ finishReason: "STOP" }] }],
  scripts: {
    text: { event: () => parts({ text: "x" }) },
    thoughts: { event: () => parts({ text: "x", thought: true }) },
    "signed texts": { event: (index) => parts({ text: "x", thoughtSignature: `s${index}` }) },
    calls: { event: () => parts({ functionCall: { name: "f", args: {} } }) },
    "partial arguments": {
      before: [parts({ functionCall: { id: "c", name: "f", willContinue: true } })],
      event: () =>
        parts({ functionCall: { partialArgs: [{ jsonPath: "$.a", stringValue: "x", willContinue: true }], willContinue: true } }),
    },
  },
};

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
          stream: new ReadableStream({
            async start(controller) {
              for await (const part of stream()) controller.enqueue(part);
              controller.close();
            },
          }),
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
    text: { before: [{ type: "text-start", id: "0" }], event: () => ({ type: "text-delta", id: "0", delta: "x" }) },
    texts: { event: (index) => ({ type: "text-delta", id: String(index), delta: "x" }) },
    reasoning: {
      before: [{ type: "reasoning-start", id: "0" }],
      event: () => ({ type: "reasoning-delta", id: "0", delta: "x" }),
    },
    calls: { event: (index) => ({ type: "tool-call", toolCallId: `c${index}`, toolName: "f", input: "{}" }) },
    "arguments of one call": {
      before: [{ type: "tool-input-start", id: "c", toolName: "f" }],
      event: () => ({ type: "tool-input-delta", id: "c", delta: " " }),
      after: [{ type: "tool-call", toolCallId: "c", toolName: "f", input: "{}" }],
    },
  },
};

const adapters: readonly Row[] = [chat, responses, anthropic, google, sdk].flatMap(({ name, provider, end, scripts }) =>
  Object.entries(scripts).map(([what, { before = [], event, after = [] }]): Row => [
    `${name}: ${what}`,
    2_000,
    (size) => {
      const events = [...before, ...many(size, event), ...after, ...end];
      const source = provider(() => streamScript(events));
      return () => collect(source.stream(ask("hi"), createCall()));
    },
  ]),
);

const messages: readonly Message[] = [{ role: "user", content: "go" }];
const tool = defineTool({ name: "t", description: "", inputSchema: { type: "object" }, execute: () => "x".repeat(100) });

/** A provider that streams so many chunks in its first iteration, and a word in the next. */
function says(size: number, chunk: (index: number) => ModelChunk, last: ModelChunk): Provider {
  return {
    id: "p",
    model: "m",
    async *stream({ iteration }) {
      if (iteration === 0) for (let index = 0; index < size; index += 1) yield chunk(index);
      else yield { type: "text-delta", text: "ok" };
      yield iteration === 0 ? last : stop;
    },
  };
}

const stop: ModelChunk = { type: "finish", reason: "stop" };
const toCalls: ModelChunk = { type: "finish", reason: "tool-calls" };
const textChunk = (): ModelChunk => ({ type: "text-delta", text: " " });
const thoughtChunk = (): ModelChunk => ({ type: "reasoning-delta", text: "x" });
const callChunk = (index: number): ModelChunk => ({
  type: "call-ready",
  key: `k${index}`,
  id: `c${index}`,
  name: "t",
  args: { index },
});
const wrongChunk = (index: number): ModelChunk => ({ ...callChunk(index), name: `t${index}` }) as ModelChunk;
const piece = (index: number): ModelChunk =>
  index === 0 ? { type: "call-start", key: "k", name: "t" } : { type: "call-args-delta", key: "k", text: " " };

const run = (options: Partial<LoopOptions> & Pick<LoopOptions, "provider">) => (): unknown =>
  runToolLoop({ messages, tools: [tool], ...options });

const policies = { loopDetection: { compareResults: true, threshold: 3 }, masking: { keepIterations: 0, minTokens: 0 } } as const;

const runs: readonly Row[] = [
  ["a run over many texts", 3_000, (size) => run({ provider: says(size, textChunk, stop) })],
  ["a run over many thoughts", 3_000, (size) => run({ provider: says(size, thoughtChunk, stop) })],
  ["a run over many pieces of arguments", 3_000, (size) => run({ provider: says(size, piece, toCalls) })],
  ["a run over many calls", 300, (size) => run({ provider: says(size, callChunk, toCalls), limits: { maxToolCalls: 1e6 } })],
  [
    "a run over many calls with policies",
    300,
    (size) =>
      run({
        provider: says(size, callChunk, toCalls),
        limits: { maxToolCalls: 1e6 },
        policies: {
          ...policies,
          results: { processor: truncateResults({ maxTokens: 50 }), cacher: createResultCache({ threshold: 1 }).cacher },
        },
        tools: [tool, createResultCache().tool],
      }),
  ],
  [
    "a run over many wrong names",
    300,
    (size) => run({ provider: says(size, wrongChunk, toCalls), limits: { maxConsecutiveToolErrors: 1e6 } }),
  ],
  ["withRetry", 3_000, (size) => run({ provider: withRetry(says(size, textChunk, stop)) })],
  ["withFallback", 3_000, (size) => run({ provider: withFallback([says(size, textChunk, stop), says(1, textChunk, stop)]) })],
  ["withPlanner over blanks", 3_000, (size) => run({ provider: withPlanner(says(size, textChunk, stop), { planRetries: 0 }) })],
  [
    "withTracing with content",
    2_000,
    (size) => {
      const provider = says(size, (index) => (index % 2 === 0 ? textChunk() : thoughtChunk()), stop);
      return run(withTracing({ messages, tools: [tool], provider }, { captureContent: true }));
    },
  ],
  [
    "recordTo and replayFrom",
    500,
    (size) => async () => {
      const cassette = memoryCassette();
      await collect(recordTo(cassette, says(size, textChunk, stop)).stream(ask("hi"), createCall()));
      await collect(replayFrom(cassette).stream(ask("hi"), createCall()));
    },
  ],
  [
    "repair of many results",
    1_000,
    (size) => {
      const ids = Array.from({ length: size }, (_, index) => `c${index}`);
      const history: Message[] = [
        { role: "user", content: "q" },
        { role: "assistant", content: ids.map((callId) => ({ type: "tool-call", callId, name: "t", args: {} })) },
        ...ids.map((callId): Message => ({ role: "tool", results: [{ callId, name: "t", outcome: "completed", result: 1 }] })),
      ];
      return run({ provider: says(1, textChunk, stop), messages: history, repair: true });
    },
  ],
  [
    "a long history",
    1_000,
    (size) => {
      const history = Array.from({ length: size }, (_, index): Message => ({ role: "user", content: `q${index}` }));
      return run({ provider: says(1, textChunk, stop), messages: history });
    },
  ],
];

it.for<Row>([...adapters, ...runs])("%s takes time in proportion to the stream", async ([, size, prepare]) => {
  expect(await growthOf(prepare, size)).toBeLessThan(mostGrowth);
});
