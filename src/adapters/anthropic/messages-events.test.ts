// What a stream of wire events says, and what of it is sent back.

import { describe, expect, it } from "vitest";
import type { ModelChunk } from "../../spi.ts";
import { createMessagesReader } from "./messages-events.ts";

type Fields = { readonly [field: string]: unknown };

const opening = (message: Fields = {}): Fields => ({
  type: "message_start",
  message: { content: [], stop_reason: null, ...message },
});
const begin = (index: number, block: Fields): Fields => ({ type: "content_block_start", index, content_block: block });
const delta = (index: number, fields: Fields): Fields => ({ type: "content_block_delta", index, delta: fields });
const end = (index: number): Fields => ({ type: "content_block_stop", index });
const text = (index: number, content: string): readonly Fields[] => [
  begin(index, { type: "text", text: "" }),
  delta(index, { type: "text_delta", text: content }),
  end(index),
];
const thinking = (index: number, signature?: string): readonly Fields[] => [
  begin(index, { type: "thinking", thinking: "", signature: "" }),
  delta(index, { type: "thinking_delta", thinking: "Hm" }),
  ...(signature === undefined ? [] : [delta(index, { type: "signature_delta", signature })]),
  end(index),
];
const input = (index: number, block: Fields, ...pieces: readonly string[]): readonly Fields[] => [
  begin(index, { input: {}, ...block }),
  ...pieces.map((piece) => delta(index, { type: "input_json_delta", partial_json: piece })),
  end(index),
];
const call = (index: number, ...pieces: readonly string[]): readonly Fields[] =>
  input(index, { type: "tool_use", id: `t${index}`, name: "f" }, ...pieces);
const stop = (reason: string, rest: Fields = {}): readonly Fields[] => [
  { type: "message_delta", delta: { stop_reason: reason, ...rest }, usage: {} },
  { type: "message_stop" },
];

function read(events: readonly unknown[]): readonly ModelChunk[] {
  const out: ModelChunk[] = [];
  const reader = createMessagesReader(out);
  for (const event of events) if (!reader.failed) reader.read(event);
  reader.end();
  return out;
}

/** One short line per chunk; native parts are shown by themselves. */
const linesOf = (chunks: readonly ModelChunk[]): readonly string[] =>
  chunks.flatMap((chunk) => {
    if (chunk.type === "native") return [];
    if (chunk.type === "call-ready") return `ready ${chunk.id} ${chunk.problem ?? JSON.stringify(chunk.args)}`;
    if (chunk.type === "finish") return `finish ${chunk.reason} (${chunk.raw})`;
    if (chunk.type === "usage") return `usage ${chunk.usage.inputTokens} ${chunk.usage.outputTokens} ${chunk.mode}`;
    if (chunk.type === "error") return `error ${chunk.error.code}: ${chunk.error.message}`;
    if (chunk.type === "call-start") return `start ${chunk.key} ${chunk.id} ${chunk.name}`;
    return "text" in chunk ? `${chunk.type.replace("-delta", "")} ${chunk.text}` : chunk.type;
  });

const nativeOf = (chunks: readonly ModelChunk[]): readonly unknown[] =>
  chunks.flatMap((chunk) => (chunk.type === "native" ? [chunk.item] : []));

describe("the reader of wire events", () => {
  it.for<[what: string, events: readonly (readonly unknown[])[], lines: readonly string[]]>([
    ["text", [text(0, "Hello"), stop("end_turn")], ["text Hello", "finish stop (end_turn)"]],
    [
      "text in the begin of its block",
      [[begin(0, { type: "text", text: "Hi" })], stop("end_turn")],
      ["text Hi", "finish stop (end_turn)"],
    ],
    ["thinking", [thinking(0, "s"), text(1, "a"), stop("end_turn")], ["reasoning Hm", "text a", "finish stop (end_turn)"]],
    [
      "a call, which is ready with the stop reason",
      [call(0, '{"n"', ":1}"), stop("tool_use")],
      ["start block-0 t0 f", 'call-args {"n"', "call-args :1}", 'ready t0 {"n":1}', "finish tool-calls (tool_use)"],
    ],
    [
      "two calls, the first of which is ready when the second begins",
      [call(0, "{}"), call(1), stop("tool_use")],
      ["start block-0 t0 f", "call-args {}", "ready t0 {}", "start block-1 t1 f", "ready t1 {}", "finish tool-calls (tool_use)"],
    ],
    ["a call that is closed and never told ready", [call(0, "{}")], ["start block-0 t0 f", "call-args {}"]],
    [
      "a malformed call",
      [call(0, "{"), stop("tool_use")],
      ["start block-0 t0 f", "call-args {", "ready t0 malformed", "finish tool-calls (tool_use)"],
    ],
    [
      "a whole call at the end of a reply that was cut",
      [call(0, "{}"), stop("max_tokens")],
      ["start block-0 t0 f", "call-args {}", "ready t0 truncated", "finish length (max_tokens)"],
    ],
    [
      "a call before a text that was cut",
      [call(0, "{}"), text(1, "a"), stop("max_tokens")],
      ["start block-0 t0 f", "call-args {}", "ready t0 {}", "text a", "finish length (max_tokens)"],
    ],
    [
      "a call that came whole",
      [[begin(0, { type: "tool_use", id: "t0", name: "f", input: { n: 1 } })], stop("tool_use")],
      ["start block-0 t0 f", 'ready t0 {"n":1}', "finish tool-calls (tool_use)"],
    ],
    [
      "a message that came whole",
      [
        [opening({ content: [{ type: "tool_use", id: "t0", name: "f", input: { n: 1 } }], stop_reason: "tool_use" })],
        [{ type: "message_stop" }],
      ],
      ["start block-0 t0 f", 'ready t0 {"n":1}', "finish tool-calls (tool_use)"],
    ],
    [
      "tools of the server, which are no calls",
      [
        input(0, { type: "server_tool_use", id: "s", name: "web_search" }, '{"q":1}'),
        input(1, { type: "mcp_tool_use", id: "s2", name: "f" }, "{}"),
        stop("pause_turn"),
      ],
      ["finish paused (pause_turn)"],
    ],
    [
      "usage as a snapshot",
      [
        [opening({ usage: { input_tokens: 3, output_tokens: 1 } })],
        [{ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } }, { type: "message_stop" }],
      ],
      ["usage 3 1 snapshot", "usage 3 9 snapshot", "finish stop (end_turn)"],
    ],
    [
      "a refusal, with what the service says of it",
      [stop("refusal", { stop_details: { explanation: " Not this. " } })],
      ["refusal Not this.", "finish refusal (refusal)"],
    ],
    [
      "a refusal after a text",
      [text(0, "Sure"), stop("refusal", { stop_details: { explanation: "Not this." } })],
      ["text Sure", "refusal \n\nNot this.", "finish refusal (refusal)"],
    ],
    ["a refusal without a word", [stop("refusal", { stop_details: null })], ["finish refusal (refusal)"]],
    ["no stop reason", [text(0, "a"), [{ type: "message_stop" }]], ["text a"]],
    ["no end marker", [text(0, "a"), stop("end_turn").slice(0, 1)], ["text a"]],
    ["nothing after the end marker", [stop("end_turn"), text(0, "a")], ["finish stop (end_turn)"]],
    [
      "an error",
      [text(0, "a"), [{ type: "error", error: { type: "overloaded_error", message: "Busy." } }], stop("end_turn")],
      ["text a", "error overloaded: Busy."],
    ],
    ["an error without words", [[{ type: "error" }]], ["error server: The service sent an error without words."]],
    [
      "arguments after their call was complete",
      [call(0, "{}"), call(1), [delta(0, { type: "input_json_delta", partial_json: "x" })], stop("tool_use")],
      [
        "start block-0 t0 f",
        "call-args {}",
        "ready t0 {}",
        "start block-1 t1 f",
        "error server: The service added arguments to a call after the call was complete.",
      ],
    ],
    [
      "what it does not know",
      [
        ["x", null, { type: "ping" }, { type: "novelty" }, { type: "message_start" }, { type: "message_delta" }],
        [
          begin(0, { type: "novelty" }),
          delta(0, { type: "novelty_delta", x: 1 }),
          delta(7, { type: "text_delta", text: "lost" }),
        ],
        [
          { type: "content_block_start", index: 1 },
          { type: "content_block_delta", index: 1 },
        ],
        stop("end_turn"),
      ],
      ["finish stop (end_turn)"],
    ],
  ])("reads %s", ([, events, lines]) => {
    expect(linesOf(read(events.flat()))).toEqual(lines);
  });

  it.for<[what: string, events: readonly (readonly unknown[])[], native: readonly unknown[]]>([
    [
      "blocks as they came",
      [
        thinking(0, "s"),
        [begin(1, { type: "redacted_thinking", data: "x" })],
        text(2, "a"),
        [delta(2, { type: "citations_delta", citation: { n: 1 } }), delta(2, { type: "citations_delta", citation: { n: 2 } })],
        input(3, { type: "server_tool_use", id: "s", name: "web_search", caller: { type: "direct" } }, '{"q"', ":1}"),
        call(4, '{"n":1}'),
        stop("tool_use"),
      ],
      [
        { type: "thinking", thinking: "Hm", signature: "s" },
        { type: "redacted_thinking", data: "x" },
        { type: "text", text: "a", citations: [{ n: 1 }, { n: 2 }] },
        { type: "server_tool_use", id: "s", name: "web_search", caller: { type: "direct" }, input: { q: 1 } },
        { type: "tool_use", id: "t4", name: "f", input: { n: 1 } },
      ],
    ],
    [
      "a summary of the conversation",
      [
        [
          begin(0, { type: "compaction", content: null }),
          delta(0, { type: "compaction_delta", content: "Short.", encrypted_content: "x" }),
        ],
        stop("compaction"),
      ],
      [{ type: "compaction", content: "Short.", encrypted_content: "x" }],
    ],
    [
      "malformed arguments in an object",
      [call(0, "[1]"), call(1, "{"), stop("tool_use")],
      [
        { type: "tool_use", id: "t0", name: "f", input: { INVALID_JSON: "[1]" } },
        { type: "tool_use", id: "t1", name: "f", input: { INVALID_JSON: "{" } },
      ],
    ],
    [
      "the key __proto__ in arguments",
      [call(0, '{"__proto__":{"x":1}}'), stop("tool_use")],
      [{ type: "tool_use", id: "t0", name: "f", input: JSON.parse('{"__proto__":{"x":1}}') }],
    ],
    [
      "thinking without a signature, where it was not cut",
      [thinking(0), stop("end_turn")],
      [{ type: "thinking", thinking: "Hm", signature: "" }],
    ],
    ["no thinking that was cut", [text(0, "a"), thinking(1), stop("max_tokens")], [{ type: "text", text: "a" }]],
    [
      "no input of a server's tool that was cut",
      [input(0, { type: "server_tool_use", id: "s" }, '{"q"'), stop("max_tokens")],
      [],
    ],
    ["nothing of a refusal", [thinking(0, "s"), text(1, "a"), stop("refusal")], []],
    ["nothing without the end marker", [text(0, "a")], []],
    ["a message that begins twice once", [[opening(), opening()], text(0, "a"), stop("end_turn")], [{ type: "text", text: "a" }]],
  ])("keeps to be sent back: %s", ([, events, native]) => {
    expect(nativeOf(read(events.flat()))).toEqual(native.map((block) => ({ content_block: block })));
  });

  it("keeps the container that was named last", () => {
    const events = [opening({ container: { id: "c1" } }), ...stop("end_turn", { container: { id: "c2", expires_at: "2999" } })];
    expect(nativeOf(read(events))).toEqual([{ container: { id: "c2", expires_at: "2999" } }]);
    expect(nativeOf(read([opening({ container: { id: "c1" } }), ...stop("end_turn", { container: null })]))).toEqual([
      { container: { id: "c1" } },
    ]);
  });

  it("does not keep the objects of the stream", () => {
    const block = { type: "novelty", deep: { n: 1 } };
    const out: ModelChunk[] = [];
    const reader = createMessagesReader(out);
    reader.read(begin(0, block));
    block.deep.n = 2;
    for (const event of stop("end_turn")) reader.read(event);
    reader.end();
    expect(nativeOf(out)).toEqual([{ content_block: { type: "novelty", deep: { n: 1 } } }]);
  });
});
