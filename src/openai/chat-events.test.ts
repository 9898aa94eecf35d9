import { describe, expect, it } from "vitest";
import type { ModelChunk } from "../core/index.ts";
import { createChatReader } from "./chat-events.ts";
import { call, choice, finish, linesOf, read, text, usage } from "../../test/wire/chat-chunks.ts";

const broke = { message: "It broke.", type: "server_error", code: null };

const begun = ["start f", 'call-args {"n":1}'];
const called = [...begun, 'ready f {"n":1}'];
const cut = [...begun, "ready f truncated"];

describe("openaiChat with a stream of chunks", () => {
  it.for<[what: string, chunks: readonly unknown[], lines: readonly string[]]>([
    [
      "text",
      [choice({ role: "assistant", content: "" }), text("Hel"), text("lo"), finish("stop")],
      ["text Hel", "text lo", "finish stop (stop)"],
    ],
    ["usage in x_groq (Groq)", [{ ...finish("stop"), x_groq: { id: "r", usage } }], ["usage 3 2 snapshot", "finish stop (stop)"]],
    ["a call", [call('{"n":1}'), finish("tool_calls")], [...called, "finish tool-calls (tool_calls)"]],
    [
      "text and a call",
      [text("Hm."), call('{"n":1}'), finish("tool_calls")],
      ["text Hm.", ...called, "finish tool-calls (tool_calls)"],
    ],
    [
      "a malformed call",
      [call("{"), finish("tool_calls")],
      ["start f", "call-args {", "ready f malformed", "finish tool-calls (tool_calls)"],
    ],
    [
      "the finish reason tool_calls without a call",
      [text("Hm."), finish("tool_calls")],
      ["text Hm.", "finish tool-calls (tool_calls)"],
    ],
    ['an answer with the finish reason "length"', [text("Once"), finish("length")], ["text Once", "finish length (length)"]],
    [
      'an incomplete call as truncated if the finish reason "length" follows',
      [call("{"), finish("length")],
      ["start f", "call-args {", "ready f truncated", "finish length (length)"],
    ],
    [
      'a complete call as truncated if the finish reason "length" follows',
      [call('{"n":1}'), finish("length")],
      [...cut, "finish length (length)"],
    ],
    [
      "a refusal",
      [choice({ refusal: "I ca" }), choice({ refusal: "n't." }), finish("stop")],
      ["refusal I ca", "refusal n't.", "finish refusal (stop)"],
    ],
    [
      "a null refusal as no refusal",
      [choice({ content: "Yes.", refusal: null }), finish("stop")],
      ["text Yes.", "finish stop (stop)"],
    ],
    [
      "a refusal and a call",
      [choice({ refusal: "No." }), call('{"n":1}'), finish("stop")],
      ["refusal No.", ...called, "finish refusal (stop)"],
    ],
    [
      "a content filter and a call",
      [call('{"n":1}'), finish("content_filter")],
      [...called, "finish content-filter (content_filter)"],
    ],
    [
      "usage in the chunk after the finish reason",
      [finish("stop"), { choices: [], usage }],
      ["usage 3 2 snapshot", "finish stop (stop)"],
    ],
    ["an error chunk (OpenAI)", [text("x"), { error: broke }, finish("stop")], ["text x", "error server: It broke."]],
    [
      "nothing from an error after the finish reason",
      [text("x"), finish("stop"), { error: broke }],
      ["text x", "finish stop (stop)"],
    ],
  ])("reads %s", ([, chunks, lines]) => {
    expect(linesOf(read(chunks))).toEqual(lines);
  });

  it.for<[what: string, chunks: readonly unknown[], lines: readonly string[]]>([
    [
      'the finish reason "stop" after a call as "tool-calls"',
      [call('{"n":1}'), finish("stop")],
      [...called, "finish tool-calls (stop)"],
    ],
    ["a call after the finish reason", [finish("stop"), call('{"n":1}')], [...called, "finish tool-calls (stop)"]],
    ['the finish reason "length" before "stop" as "length"', [finish("length"), finish("stop")], ["finish length (length)"]],
    ['the finish reason "length" after "stop" as "length"', [finish("stop"), finish("length")], ["finish length (length)"]],
    ["an unknown finish reason", [text("x"), finish("weather")], ["text x", "finish unknown (weather)"]],
    ["an unknown finish reason after a call", [call('{"n":1}'), finish("weather")], [...called, "finish unknown (weather)"]],
    ["text without a finish reason", [text("x")], ["text x"]],
    ["a complete call without a finish reason as unfinished", [call('{"n":1}')], begun],
    ["an empty finish reason as no finish reason", [choice({ content: "x" }, { finish_reason: "" })], ["text x"]],
    [
      "the finish reason in a field named finishReason",
      [choice({ content: "x" }, { finish_reason: undefined, finishReason: "stop" })],
      ["text x", "finish stop (stop)"],
    ],
    ["a null delta", [choice(null), choice(null, { finish_reason: "stop" })], ["finish stop (stop)"]],
    [
      "a chunk without a delta (Azure)",
      [{ choices: [{ index: 0, content_filter_offsets: {}, finish_reason: null }] }, finish("stop")],
      ["finish stop (stop)"],
    ],
    [
      "a chunk without choices (Azure)",
      [{ choices: [], prompt_filter_results: [{}] }, { object: "" }, finish("stop")],
      ["finish stop (stop)"],
    ],
    [
      "a choice without an index",
      [{ choices: [{ delta: { content: "x" }, finish_reason: "stop" }] }],
      ["text x", "finish stop (stop)"],
    ],
    [
      "only the choice with index 0",
      [
        {
          choices: [
            { index: 1, delta: { content: "b" } },
            { index: 0, delta: { content: "a" } },
          ],
        },
      ],
      ["text a"],
    ],
    [
      "usage before a null usage",
      [
        { ...finish("stop"), usage },
        { choices: [], usage: null },
      ],
      ["usage 3 2 snapshot", "finish stop (stop)"],
    ],
    [
      "usage in several chunks",
      [
        { ...text("x"), usage },
        { ...finish("stop"), usage },
      ],
      ["text x", "usage 3 2 snapshot", "usage 3 2 snapshot", "finish stop (stop)"],
    ],
    [
      "usage within the choice (Moonshot)",
      [choice({}, { finish_reason: "stop", usage })],
      ["usage 3 2 snapshot", "finish stop (stop)"],
    ],
    [
      "reasoning in the `reasoning_content` field (DeepSeek, vLLM)",
      [choice({ content: null, reasoning_content: "Hm" }), text("x")],
      ["reasoning Hm", "text x"],
    ],
    ["reasoning in the `reasoning` field (Groq, Ollama)", [choice({ content: "", reasoning: "Hm" })], ["reasoning Hm"]],
    [
      "content in parts (Mistral)",
      [
        choice({
          content: [
            { type: "thinking", thinking: [{ type: "text", text: "Hm" }] },
            { type: "text", text: "x" },
          ],
        }),
      ],
      ["reasoning Hm", "text x"],
    ],
    [
      "thinking that is a string in a content part",
      [choice({ content: [{ type: "thinking", thinking: "Hm" }, null, "x"] })],
      ["reasoning Hm"],
    ],
    [
      "a call in the old function_call field",
      [
        choice({ function_call: { name: "f", arguments: "" } }),
        choice({ function_call: { arguments: '{"n":1}' } }),
        finish("function_call"),
      ],
      [...called, "finish tool-calls (function_call)"],
    ],
    [
      "a call in the same chunk as the finish reason (Mistral)",
      [choice({ tool_calls: [{ id: "a", function: { name: "f", arguments: '{"n":1}' } }] }, { finish_reason: "tool_calls" })],
      [...called, "finish tool-calls (tool_calls)"],
    ],
    [
      "nothing from malformed chunks",
      [null, "x", 5, [], { choices: "x" }, { choices: [null, "x"] }, choice("x"), choice({ tool_calls: "x" })],
      [],
    ],
    ["nothing from malformed calls", [choice({ tool_calls: [null, "x"] }), finish("stop")], ["finish stop (stop)"]],
    ["an error that is a string", [{ error: "overloaded" }], ["error server: overloaded"]],
    ["an error that is a number", [{ error: 1 }], ["error server: The service sent an error without a message."]],
    ["a null error as no error", [{ error: null, ...text("x") }], ["text x"]],
    ["an error without choices (vLLM)", [{ object: "error", message: "Slow.", code: 429 }], ["error rate-limit: Slow."]],
    [
      "an error within the choice (OpenRouter)",
      [choice({ content: "" }, { finish_reason: "error", error: { code: 502, message: "Upstream." } }), finish("stop")],
      ["error server: Upstream."],
    ],
    ['the finish reason "error"', [text("x"), finish("error")], ["text x", "finish error (error)"]],
  ])("reads %s", ([, chunks, lines]) => {
    expect(linesOf(read(chunks))).toEqual(lines);
  });

  it("yields the text of reasoning_details only once", () => {
    const detail = { type: "reasoning.text", index: 0, format: "anthropic-claude-v1" };
    const encrypted = { type: "reasoning.encrypted", data: "abc", index: 1 };
    const chunks = [
      choice({ reasoning: "Let ", reasoning_details: [{ ...detail, text: "Let " }] }),
      choice({ reasoning_details: [{ ...detail, text: "me see." }] }),
      choice({ reasoning_details: [{ ...detail, signature: "sig" }] }),
      choice({ reasoning_details: [encrypted] }),
      finish("stop"),
    ];
    expect(read(chunks)).toEqual([
      { type: "reasoning-delta", text: "Let " },
      { type: "reasoning-delta", text: "me see." },
      {
        type: "provider-metadata",
        item: { reasoning_details: [{ ...detail, text: "Let me see.", signature: "sig" }, encrypted] },
      },
      { type: "finish", reason: "stop", raw: "stop" },
    ]);
  });

  it("yields a call's extra_content as provider metadata, with the call's position", () => {
    const extra = { google: { thought_signature: "sig" } };
    const second = { index: 1, id: "b", function: { name: "g", arguments: "{}" }, extra_content: extra };
    const chunks = read([call("{}"), choice({ tool_calls: [second] }), finish("stop")]);
    expect(chunks.filter((chunk) => chunk.type === "provider-metadata")).toEqual([
      { type: "provider-metadata", item: { call: 1, extra_content: extra } },
    ]);
  });

  it("yields call-ready when the finish reason arrives, not at the end of the stream", () => {
    const out: ModelChunk[] = [];
    const reader = createChatReader(out);
    reader.read(call('{"n":1}'));
    expect([reader.finished, linesOf(out)]).toEqual([false, begun]);
    reader.read(finish("tool_calls"));
    expect([reader.finished, linesOf(out)]).toEqual([true, called]);
  });

  it("yields an error and no finish chunk if a completed call receives more arguments", () => {
    const second = choice({ tool_calls: [{ index: 1, id: "b", function: { name: "g", arguments: "{" } }] });
    const late = choice({
      tool_calls: [
        { index: 0, function: { arguments: ',"m":2}' } },
        { index: 1, function: { arguments: "}" } },
      ],
    });
    const lines = linesOf(read([call('{"n":1}'), second, late, finish("tool_calls")]));
    expect(lines.at(-1)).toMatch(/^error server/);
    expect(lines.filter((line) => line.startsWith("finish"))).toEqual([]);
  });
});
