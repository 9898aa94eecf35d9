// Streams of Responses, Messages and Gemini that differ from the documentation of these APIs.

import { a, bothCalls, counts, type Fields, hello, oneCall, type Row } from "./oddity-rows.ts";

export const call = (id: string, name: string, args = ""): Fields => ({
  id: `fc_${id}`,
  type: "function_call",
  status: "in_progress",
  call_id: id,
  name,
  arguments: args,
});
export const added = (place: number, item: Fields): Fields => ({ type: "response.output_item.added", output_index: place, item });
export const finished = (place: number, item: Fields): Fields => ({
  type: "response.output_item.done",
  output_index: place,
  item,
});
export const argued = (place: number, id: string, delta: string): Fields => ({
  type: "response.function_call_arguments.delta",
  output_index: place,
  item_id: id,
  delta,
});
export const spoken = (place: number, id: string, delta: string): Fields => ({
  type: "response.output_text.delta",
  output_index: place,
  item_id: id,
  content_index: 0,
  delta,
});
export const created: Fields = {
  type: "response.created",
  response: { id: "r", object: "response", status: "in_progress", output: [] },
};
export const completed = (output: unknown = null, more: Fields = {}): Fields => ({
  type: "response.completed",
  response: { id: "r", object: "response", status: "completed", output, ...more },
});
export const message: Fields = { id: "msg_1", type: "message", role: "assistant", status: "in_progress", content: [] };

export const responseRows: readonly Row[] = [
  [
    "item ids that contradict the output indexes: the indexes decide",
    "opencode#45013",
    [
      created,
      ...[added(1, call("a", "f")), added(3, call("b", "g"))],
      ...[argued(1, "fc_b", '{"n":'), argued(3, "fc_a", '{"n":'), argued(1, "fc_b", "1}"), argued(3, "fc_a", "2}")],
      completed(),
    ],
    bothCalls,
  ],
  [
    "one output index for two calls: the item ids decide",
    "llmgateway#2908",
    [
      created,
      ...[added(0, call("a", "f")), added(0, call("b", "g"))],
      ...[argued(0, "fc_a", '{"n":1}'), argued(0, "fc_b", '{"n":2}')],
      completed(),
    ],
    bothCalls,
  ],
  [
    "the output index 0 in all arguments: the item ids decide after the first call is finished",
    "llmgateway#2908",
    [
      created,
      ...[added(0, call("a", "f")), argued(0, "fc_a", '{"n":1}'), finished(0, call("a", "f", '{"n":1}'))],
      ...[added(1, call("b", "g")), argued(0, "fc_b", '{"n":2}')],
      completed(),
    ],
    bothCalls,
  ],
  [
    "one output index for a message and a call",
    "llmgateway#2908",
    [
      created,
      ...[added(0, message), spoken(0, "msg_1", "Hello.")],
      ...[added(0, call("a", "f")), argued(0, "fc_a", '{"n":1}')],
      completed(),
    ],
    { ...oneCall, text: "Hello." },
  ],
  [
    "a call before the text",
    "cursor-byok#307",
    [
      created,
      ...[added(0, call("a", "f")), finished(0, call("a", "f", '{"n":1}'))],
      ...[added(1, message), spoken(1, "msg_1", "Hello.")],
      completed(),
    ],
    { ...oneCall, text: "Hello." },
  ],
  [
    "reasoning without an item after it",
    "openai/openai-agents-python#3207",
    [
      created,
      ...[added(0, message), spoken(0, "msg_1", "Hello.")],
      finished(1, { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "x" }),
      completed(),
    ],
    hello,
  ],
  [
    "response.created after the first item",
    "proxies",
    [added(0, message), created, spoken(0, "msg_1", "Hello."), completed()],
    hello,
  ],
  [
    "the counts of Chat Completions",
    "LiteLLM",
    [
      created,
      spoken(0, "msg_1", "Hello."),
      completed(null, { usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 } }),
    ],
    { ...hello, usage: counts },
  ],
  [
    "the tokens written to the cache",
    "openai 7.59.0",
    [
      created,
      spoken(0, "msg_1", "Hello."),
      completed(null, {
        usage: {
          input_tokens: 1000,
          output_tokens: 10,
          total_tokens: 1010,
          input_tokens_details: { cached_tokens: 700, cache_write_tokens: 100 },
          output_tokens_details: { reasoning_tokens: 4 },
        },
      }),
    ],
    { ...hello, usage: { ...counts, cachedInputTokens: 700, cacheWriteTokens: 100, reasoningTokens: 4 } },
  ],
];

export const begun = (id: string): Fields => ({
  type: "message_start",
  message: { id, type: "message", role: "assistant", content: [], usage: { input_tokens: 1000, output_tokens: 1 } },
});
export const block = (index: number, ...texts: readonly string[]): readonly Fields[] => [
  { type: "content_block_start", index, content_block: { type: "text", text: "" } },
  ...texts.map((text) => ({ type: "content_block_delta", index, delta: { type: "text_delta", text } })),
  { type: "content_block_stop", index },
];
export const ended = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 10 } };
export const stopped = { type: "message_stop" };
export const messageRows: readonly Row[] = [
  [
    "two message_start with different ids at the beginning",
    "proxies",
    [begun("1"), begun("2"), ...block(0, "Hello."), ended, stopped],
    hello,
  ],
  [
    "a second message_start between two blocks",
    "proxies",
    [begun("1"), ...block(0, "Hel"), begun("2"), ...block(1, "lo."), ended, stopped],
    hello,
  ],
  [
    "a second answer",
    "@ai-sdk/anthropic 4.0.32",
    [begun("1"), ...block(0, "Hel"), begun("2"), ...block(0, "Hello."), ended, stopped],
    { text: "Hel", end: "stream-ended-early", usage: { inputTokens: 1000, outputTokens: 1, totalTokens: 1001 } },
  ],
  ["no message_stop", "proxies", [begun("1"), ...block(0, "Hello."), ended], hello],
  [
    "cached tokens in message_delta",
    "Vercel AI Gateway",
    [begun("1"), ...block(0, "Hello."), { ...ended, usage: { output_tokens: 10, cache_creation_input_tokens: 5 } }, stopped],
    { ...hello, usage: { inputTokens: 1005, outputTokens: 10, totalTokens: 1015, cacheWriteTokens: 5 } },
  ],
];

export const candidate = (responseId: string, parts: readonly Fields[], finishReason?: string): Fields => ({
  responseId,
  candidates: [{ index: 0, content: { role: "model", parts }, ...(finishReason === undefined ? {} : { finishReason }) }],
});
export const generateRows: readonly Row[] = [
  [
    "a signature on an empty text",
    "@ai-sdk/google 4.0.112",
    [candidate("1", [{ text: "Hello." }]), candidate("1", [{ text: "", thoughtSignature: "c2ln" }], "STOP")],
    hello,
  ],
  [
    "calls with one id and without ids",
    "Gemini",
    [
      candidate("1", [
        { functionCall: { id: "a", name: "f", args: { n: 1 } } },
        { functionCall: { id: "a", name: "g", args: {} } },
      ]),
      candidate("1", [{ functionCall: { name: "g", args: {} } }], "STOP"),
    ],
    { calls: [a, "a g {}", "- g {}"], end: "tool-calls" },
  ],
  [
    "a new id in each chunk",
    "proxies",
    [candidate("1", [{ text: "Hel" }]), candidate("2", [{ text: "lo." }]), candidate("3", [], "STOP")],
    hello,
  ],
  [
    "another id in the last chunk",
    "proxies",
    [candidate("1", [{ text: "Hel" }]), candidate("1", [{ text: "lo" }]), candidate("2", [{ text: "." }], "STOP")],
    hello,
  ],
  [
    "a second answer",
    "gateways",
    [candidate("1", [{ text: "Hel" }]), candidate("2", [{ text: "Hello" }]), candidate("2", [{ text: "." }], "STOP")],
    { text: "Hel", end: "stream-ended-early" },
  ],
];
