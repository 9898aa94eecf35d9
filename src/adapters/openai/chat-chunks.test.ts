// What a stream of wire chunks says, for OpenAI itself and for every row of what compatible servers do to it.

import { describe, expect, it } from "vitest";
import type { ModelChunk } from "../../spi.ts";
import { createChatReader } from "./chat-chunks.ts";

type Choice = { readonly [field: string]: unknown };

const choice = (delta: unknown, rest: Choice = {}): object => ({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: null, ...rest }] });
const finish = (reason: string): object => choice({}, { finish_reason: reason });
const call = (entry: object): object => choice({ tool_calls: [entry] });
const aCall = call({ index: 0, id: "a", type: "function", function: { name: "f", arguments: '{"n":1}' } });
const halfCall = call({ index: 0, id: "a", type: "function", function: { name: "f", arguments: '{"n":' } });

function read(chunks: readonly unknown[]): readonly ModelChunk[] {
  const out: ModelChunk[] = [];
  const reader = createChatReader(out);
  for (const chunk of chunks) if (!reader.failed) reader.read(chunk);
  reader.end();
  return out;
}

/** One short entry per chunk. */
const summary = (chunks: readonly ModelChunk[]): readonly unknown[] =>
  chunks.map((chunk) => {
    if (chunk.type === "call-ready") return [chunk.type, chunk.name, chunk.problem ?? chunk.args];
    if (chunk.type === "finish") return [chunk.type, chunk.reason, chunk.raw];
    if (chunk.type === "usage") return [chunk.type, chunk.usage.inputTokens, chunk.usage.outputTokens, chunk.mode];
    if (chunk.type === "error") return [chunk.type, chunk.error.code, chunk.error.message];
    return "text" in chunk ? [chunk.type, chunk.text] : [chunk.type];
  });

const started = [["call-start"], ["call-args-delta", '{"n":1}'], ["call-ready", "f", { n: 1 }]];
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

describe("the reader of wire chunks", () => {
  it.for<[what: string, chunks: readonly unknown[], expected: readonly unknown[]]>([
    ["text", [choice({ role: "assistant", content: "" }), choice({ content: "Hel" }), choice({ content: "lo" }), finish("stop")], [["text-delta", "Hel"], ["text-delta", "lo"], ["finish", "stop", "stop"]]],
    ["a call", [aCall, finish("tool_calls")], [...started, ["finish", "tool-calls", "tool_calls"]]],
    ["text before a call", [choice({ content: "One moment." }), aCall, finish("tool_calls")], [["text-delta", "One moment."], ...started, ["finish", "tool-calls", "tool_calls"]]],
    ["a call that ends with stop", [aCall, finish("stop")], [...started, ["finish", "tool-calls", "stop"]]],
    ["tool_calls without a call", [choice({ content: "Hm." }), finish("tool_calls")], [["text-delta", "Hm."], ["finish", "tool-calls", "tool_calls"]]],
    ["a call in the chunk of the finish (Mistral)", [choice({ tool_calls: [{ id: "a", function: { name: "f", arguments: '{"n":1}' } }] }, { finish_reason: "tool_calls" })], [...started, ["finish", "tool-calls", "tool_calls"]]],
    ["a finish before the call", [finish("stop"), aCall], [["call-start"], ["call-args-delta", '{"n":1}'], ["call-ready", "f", { n: 1 }], ["finish", "tool-calls", "stop"]]],
    ["the old function_call", [choice({ function_call: { name: "f", arguments: "" } }), choice({ function_call: { arguments: '{"n":1}' } }), finish("function_call")], [...started, ["finish", "tool-calls", "function_call"]]],
    ["a reply cut by length", [choice({ content: "Once" }), finish("length")], [["text-delta", "Once"], ["finish", "length", "length"]]],
    ["a call cut by length", [halfCall, finish("length")], [["call-start"], ["call-args-delta", '{"n":'], ["call-ready", "f", "truncated"], ["finish", "length", "length"]]],
    ["a whole call cut by length", [aCall, finish("length")], [["call-start"], ["call-args-delta", '{"n":1}'], ["call-ready", "f", "truncated"], ["finish", "length", "length"]]],
    ["a malformed call", [halfCall, finish("tool_calls")], [["call-start"], ["call-args-delta", '{"n":'], ["call-ready", "f", "malformed"], ["finish", "tool-calls", "tool_calls"]]],
    ["a refusal, which ends with stop", [choice({ refusal: "I ca" }), choice({ refusal: "n't." }), finish("stop")], [["refusal-delta", "I ca"], ["refusal-delta", "n't."], ["finish", "refusal", "stop"]]],
    ["a refusal that is null", [choice({ content: "Yes.", refusal: null }), finish("stop")], [["text-delta", "Yes."], ["finish", "stop", "stop"]]],
    ["a refusal with a call", [choice({ refusal: "No." }), aCall, finish("stop")], [["refusal-delta", "No."], ...started, ["finish", "refusal", "stop"]]],
    ["a content filter with a call", [aCall, finish("content_filter")], [...started, ["finish", "content-filter", "content_filter"]]],
    ["an unknown finish reason", [choice({ content: "x" }), finish("weather")], [["text-delta", "x"], ["finish", "unknown", "weather"]]],
    ["an unknown finish reason with a call", [aCall, finish("weather")], [...started, ["finish", "unknown", "weather"]]],
    ["no finish reason", [choice({ content: "x" })], [["text-delta", "x"]]],
    ["no finish reason with a whole call", [aCall], [["call-start"], ["call-args-delta", '{"n":1}']]],
    ["finishReason in camel case", [choice({ content: "x" }), choice({}, { finish_reason: undefined, finishReason: "stop" })], [["text-delta", "x"], ["finish", "stop", "stop"]]],
    ["an empty finish reason in every chunk", [choice({ content: "x" }, { finish_reason: "" })], [["text-delta", "x"]]],
    ["a delta that is null", [choice(null), choice(null, { finish_reason: "stop" })], [["finish", "stop", "stop"]]],
    ["no delta (Azure)", [{ choices: [{ index: 0, content_filter_offsets: {}, finish_reason: null }] }, finish("stop")], [["finish", "stop", "stop"]]],
    ["no choices (Azure's first chunk)", [{ choices: [], prompt_filter_results: [{}] }, { object: "" }, finish("stop")], [["finish", "stop", "stop"]]],
    ["usage in the last chunk", [finish("stop"), { choices: [], usage }], [["usage", 3, 2, "snapshot"], ["finish", "stop", "stop"]]],
    ["usage in an earlier chunk and null later", [{ ...finish("stop"), usage }, { choices: [], usage: null }], [["usage", 3, 2, "snapshot"], ["finish", "stop", "stop"]]],
    ["usage in every chunk", [{ ...choice({ content: "x" }), usage: { ...usage, completion_tokens: 1 } }, { ...finish("stop"), usage }], [["text-delta", "x"], ["usage", 3, 1, "snapshot"], ["usage", 3, 2, "snapshot"], ["finish", "stop", "stop"]]],
    ["usage within the choice (Moonshot)", [choice({}, { finish_reason: "stop", usage })], [["usage", 3, 2, "snapshot"], ["finish", "stop", "stop"]]],
    ["reasoning_content (DeepSeek, vLLM)", [choice({ content: null, reasoning_content: "Hm" }), choice({ content: "x", reasoning_content: null }), finish("stop")], [["reasoning-delta", "Hm"], ["text-delta", "x"], ["finish", "stop", "stop"]]],
    ["reasoning", [choice({ content: "", reasoning: "Hm" }), finish("stop")], [["reasoning-delta", "Hm"], ["finish", "stop", "stop"]]],
    ["content in parts (Mistral)", [choice({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm" }] }, { type: "text", text: "x" }] }), finish("stop")], [["reasoning-delta", "Hm"], ["text-delta", "x"], ["finish", "stop", "stop"]]],
    ["more than one choice", [{ choices: [{ index: 1, delta: { content: "second" } }, { index: 0, delta: { content: "first" } }] }, finish("stop")], [["text-delta", "first"], ["finish", "stop", "stop"]]],
    ["a choice without an index", [{ choices: [{ delta: { content: "x" }, finish_reason: "stop" }] }], [["text-delta", "x"], ["finish", "stop", "stop"]]],
    ["length, then stop", [finish("length"), finish("stop")], [["finish", "length", "length"]]],
    ["stop, then length", [finish("stop"), finish("length")], [["finish", "length", "length"]]],
    ["chunks that are none", [null, "x", 5, [], { choices: "x" }, { choices: [null, "x"] }, choice("x"), choice({ tool_calls: "x" }), choice({ tool_calls: [null] })], []],
    ["an error object (OpenAI)", [choice({ content: "x" }), { error: { message: "It broke.", type: "server_error", code: null } }, finish("stop")], [["text-delta", "x"], ["error", "server", "It broke."]]],
    ["an error after the finish", [choice({ content: "x" }), finish("stop"), { error: { message: "It broke." } }], [["text-delta", "x"], ["error", "server", "It broke."]]],
    ["an error that is a text", [{ error: "overloaded" }], [["error", "server", "overloaded"]]],
    ["an error without choices (vLLM)", [{ object: "error", message: "Too slow.", type: "RateLimit", code: 429 }], [["error", "rate-limit", "Too slow."]]],
    ["an error within the choice (OpenRouter)", [choice({ content: "" }, { finish_reason: "error", error: { code: 502, message: "Upstream." } }), finish("stop")], [["error", "server", "Upstream."]]],
    ["the finish reason error", [choice({ content: "x" }), finish("error")], [["text-delta", "x"], ["finish", "error", "error"]]],
  ])("reads %s", ([, chunks, expected]) => {
    expect(summary(read(chunks))).toEqual(expected);
  });

  it("tells the text of reasoning details once, and hands them back whole before the finish", () => {
    const detail = { type: "reasoning.text", index: 0, format: "anthropic-claude-v1" };
    const chunks = [
      choice({ reasoning: "Let ", reasoning_details: [{ ...detail, text: "Let " }] }),
      choice({ reasoning_details: [{ ...detail, text: "me see." }] }),
      choice({ reasoning_details: [{ ...detail, signature: "sig" }] }),
      choice({ reasoning_details: [{ type: "reasoning.encrypted", data: "abc", index: 1 }] }),
      finish("stop"),
    ];
    expect(read(chunks)).toEqual([
      { type: "reasoning-delta", text: "Let " },
      { type: "reasoning-delta", text: "me see." },
      { type: "native", item: { reasoning_details: [{ ...detail, text: "Let me see.", signature: "sig" }, { type: "reasoning.encrypted", data: "abc", index: 1 }] } },
      { type: "finish", reason: "stop", raw: "stop" },
    ]);
  });

  it("hands back a call's extra content with the position of the call", () => {
    const extra = { google: { thought_signature: "sig" } };
    const chunks = [call({ index: 0, id: "a", function: { name: "f", arguments: "{}" } }), call({ index: 1, id: "b", function: { name: "g", arguments: "{}" }, extra_content: extra }), finish("stop")];
    expect(read(chunks).filter((chunk) => chunk.type === "native")).toEqual([{ type: "native", item: { call: 1, extra_content: extra } }]);
  });

  it("declares calls ready as soon as the finish reason has come, and does not wait for the end of the stream", () => {
    const out: ModelChunk[] = [];
    const reader = createChatReader(out);
    reader.read(aCall);
    expect([reader.finished, out.length]).toEqual([false, 2]);
    reader.read(finish("tool_calls"));
    expect([reader.finished, out.at(-1)?.type]).toEqual([true, "call-ready"]);
  });

  it("stops reading calls where the stream contradicts itself", () => {
    const second = call({ index: 1, id: "b", function: { name: "g", arguments: "{" } });
    const late = choice({ tool_calls: [{ index: 0, function: { arguments: ',"m":2}' } }, { index: 1, function: { arguments: "}" } }] });
    const chunks = read([aCall, second, late, finish("tool_calls")]);
    expect(chunks.at(-1)).toMatchObject({ type: "error", error: { code: "server" } });
    expect(chunks.filter((chunk) => chunk.type === "finish")).toEqual([]);
  });
});
