// In these streams, the beginning of one answer is followed by another answer. A gateway sends such a stream if it loses its
// connection to the model and repeats the request.

import { describe, expect, it } from "vitest";
import { defineTool, type LoopResult, runToolLoop, type Provider } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, openaiResponses } from "turnwright/openai";

type Id = string | null | undefined;
type Event = { readonly [field: string]: unknown };

async function* streamOf(events: readonly Event[]): AsyncGenerator<Event> {
  yield* events;
}

async function run(provider: Provider): Promise<{ readonly result: LoopResult; readonly ran: number }> {
  let ran = 0;
  const pay = defineTool({ name: "pay", description: "", inputSchema: { type: "object" }, execute: () => void (ran += 1) });
  const messages = [{ role: "user" as const, content: "Go." }];
  const result = await runToolLoop({ provider, tools: [pay], messages, limits: { maxIterations: 1 } });
  return { result, ran };
}

interface Answer {
  readonly opening: readonly Event[];
  readonly text: readonly Event[];
  readonly call: readonly Event[];
  readonly end: readonly Event[];
}

interface SplicedWire {
  readonly name: string;
  readonly answer: (id: Id, text: string) => Answer;
  readonly connect: (events: readonly Event[]) => Provider;
}

const chunk = (id: Id, delta: Event, reason: string | null = null): Event => ({
  id,
  choices: [{ index: 0, delta, finish_reason: reason }],
});
const payArguments = '{"amount":1}';

const chat: SplicedWire = {
  name: "Chat",
  answer: (id, text) => ({
    opening: [],
    text: [chunk(id, { role: "assistant", content: text })],
    call: [
      chunk(id, {
        role: "assistant",
        tool_calls: [{ index: 0, id: `c${id}`, function: { name: "pay", arguments: payArguments } }],
      }),
    ],
    end: [chunk(id, {}, "stop")],
  }),
  connect: (events) => openaiChat({ client: { chat: { completions: { create: async () => streamOf(events) } } }, model: "m" }),
};

const responses: SplicedWire = {
  name: "Responses",
  answer: (id, text) => {
    const call = { id: `fc_${id}`, type: "function_call", call_id: `c_${id}`, name: "pay", arguments: payArguments };
    return {
      opening: [{ type: "response.created", response: { id, status: "in_progress", output: [] } }],
      text: [{ type: "response.output_text.delta", item_id: `m_${id}`, output_index: 0, content_index: 0, delta: text }],
      call: [
        { type: "response.output_item.added", output_index: 1, item: { ...call, arguments: "" } },
        { type: "response.output_item.done", output_index: 1, item: call },
      ],
      end: [{ type: "response.completed", response: { id, status: "completed" } }],
    };
  },
  connect: (events) => openaiResponses({ client: { responses: { create: async () => streamOf(events) } }, model: "m" }),
};

const messages: SplicedWire = {
  name: "Messages",
  answer: (id, text) => ({
    opening: [{ type: "message_start", message: { id, content: [] } }],
    text: [
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      { type: "content_block_stop", index: 0 },
    ],
    call: [
      { type: "content_block_start", index: 1, content_block: { type: "tool_use", id: `t${id}`, name: "pay", input: {} } },
      { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: payArguments } },
      { type: "content_block_stop", index: 1 },
    ],
    end: [{ type: "message_delta", delta: { stop_reason: "end_turn" } }, { type: "message_stop" }],
  }),
  connect: (events) =>
    anthropicMessages({ client: { messages: { create: async () => streamOf(events) } }, model: "m", maxTokens: 9 }),
};

const candidate = (responseId: Id, parts: readonly Event[], finishReason?: string): Event => ({
  responseId,
  candidates: [{ index: 0, content: { role: "model", parts }, finishReason }],
});

const google: SplicedWire = {
  name: "Google",
  answer: (id, text) => ({
    opening: [],
    text: [candidate(id, [{ text }])],
    call: [candidate(id, [{ functionCall: { name: "pay", args: { amount: 1 } } }])],
    end: [candidate(id, [], "STOP")],
  }),
  connect: (events) =>
    googleGenerateContent({ client: { models: { generateContentStream: async () => streamOf(events) } }, model: "m" }),
};

const wires = [chat, responses, messages, google];

describe.for(wires)("$name API: a stream with a second answer", ({ name, answer, connect }) => {
  const [first, second] = [answer("a", "Half"), answer("b", "Whole.")];
  const isNumbered = name === "Messages" || name === "Responses";

  it.for<[what: string, events: readonly Event[], text: string]>([
    [
      "another answer starts after partial text",
      [...first.opening, ...first.text, ...second.opening, ...second.text, ...second.end],
      "Half",
    ],
    [
      "another answer starts after text and a call",
      [...first.opening, ...first.text, ...first.call, ...second.opening, ...second.call, ...second.end],
      "Half",
    ],
    [
      "another answer starts after a call",
      [...first.opening, ...first.call, ...second.opening, ...second.call, ...second.end],
      "",
    ],
    ...(isNumbered
      ? ["a", undefined, null, ""].map((id): [string, readonly Event[], string] => {
          const { opening, text, call, end } = answer(id, "Whole.");
          const events = [...first.opening, ...first.text, ...first.call, ...opening, ...text, ...call, ...end];
          return [`an answer with the id ${JSON.stringify(id)} starts after a call`, events, "Half"];
        })
      : []),
  ])("ends with a retryable error if %s", async ([, events, text]) => {
    const { result, ran } = await run(connect(events));
    expect([result.reason.kind, result.error?.name, ran]).toEqual(["provider-error", "ProviderError", 0]);
    expect(result.error).toMatchObject({ code: "stream-ended-early", retryable: true });
    expect(result.text).toBe(text);
  });

  it("yields only the first answer if it has a finish reason", async () => {
    const events = [
      ...first.opening,
      ...first.text,
      ...first.end,
      ...second.opening,
      ...second.text,
      ...second.call,
      ...second.end,
    ];
    const { result, ran } = await run(connect(events));
    expect([result.status, result.text, ran]).toEqual(["completed", "Half", 0]);
  });

  it.for<[what: string, events: readonly Event[]]>([
    ["the start event arrives twice", [...first.opening, ...first.opening, ...first.text, ...first.end]],
    ["no event has an id", Object.values(answer(undefined, "Half")).flatMap((part, at) => (at === 2 ? [] : part))],
    ["only the last event has an id", [...first.opening, ...answer("", "Half").text, ...second.end]],
    ["the last event has a different id", [...first.opening, ...first.text, ...second.end.map(withoutRole)]],
  ])("yields one answer if %s", async ([, events]) => {
    const { result } = await run(connect(events));
    expect([result.status, result.text]).toEqual(["completed", "Half"]);
  });
});

function withoutRole(event: Event): Event {
  return JSON.parse(JSON.stringify(event).replaceAll(/"role":"(?:model|assistant)",/g, ""));
}

it.for([chat, google])("$name API: a stream without roles ends with an error when a second answer id arrives", async (wire) => {
  const [first, second] = [wire.answer("a", "Half"), wire.answer("b", "Whole.")];
  const events = [...first.text, ...first.text, ...second.text, ...second.call, ...second.end].map(withoutRole);
  const { result, ran } = await run(wire.connect(events));
  expect([result.error?.message, result.text, ran]).toEqual([expect.stringContaining("began another answer"), "HalfHalf", 0]);
});

it("Google API: a stream yields one answer if each chunk has a different id", async () => {
  const texts = ["Ha", "l", "f"].map((text, at) => withoutRole(candidate(`${at}`, [{ text }])));
  const { result } = await run(google.connect([...texts, candidate("9", [], "STOP")].map(withoutRole)));
  expect([result.status, result.text]).toEqual(["completed", "Half"]);
});

it("Chat API: a stream yields one answer if each chunk repeats the role", async () => {
  const events = ["Ha", "lf"].map((text) => chunk("a", { role: "assistant", content: text }));
  const { result } = await run(chat.connect([...events, chunk("a", { role: "assistant" }, "stop")]));
  expect([result.status, result.text]).toEqual(["completed", "Half"]);
});

it.for<[what: string, events: readonly Event[]]>([
  [
    "the first chunk has a different id and no text",
    [chunk("x", { role: "assistant", content: "" }), chunk("a", { role: "assistant", content: "Half" }), chunk("a", {}, "stop")],
  ],
  [
    "each chunk has a new id and no role",
    ["Ha", "lf"].map((text, at) => chunk(`${at}`, { content: text })).concat(chunk("9", {}, "stop")),
  ],
])("Chat API: a stream yields one answer if %s", async ([, events]) => {
  const { result } = await run(chat.connect(events));
  expect([result.status, result.text]).toEqual(["completed", "Half"]);
});
