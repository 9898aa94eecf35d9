import { describe, expect, it } from "vitest";
import type { ModelChunk } from "../core/index.ts";
import { createMessagesReader } from "./messages-events.ts";
import { begin, call, delta, input, opening, read, stop, text, thinking } from "../../test/wire/messages-events.ts";

const metadataOf = (chunks: readonly ModelChunk[]): readonly unknown[] =>
  chunks.flatMap((chunk) => (chunk.type === "provider-metadata" ? [chunk.item] : []));

describe("anthropicMessages: the provider metadata of a stream", () => {
  it.for<[what: string, events: readonly (readonly unknown[])[], providerMetadata: readonly unknown[]]>([
    [
      "all blocks in order, with all their fields",
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
      "no fields from deltas that do not fit the type of their block",
      [
        text(0, "a"),
        [
          delta(0, { type: "signature_delta", signature: "s" }),
          delta(0, { type: "compaction_delta", content: "x" }),
          delta(0, { type: "input_json_delta", partial_json: "{}" }),
          delta(0, { type: "thinking_delta", thinking: "Hm" }),
          delta(0, { type: "signature_delta", signature: "s" }),
        ],
        stop("end_turn"),
      ],
      [
        { type: "text", text: "a" },
        { type: "thinking", thinking: "Hm", signature: "s" },
      ],
    ],
    [
      "a compaction block",
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
      "malformed arguments in a field named INVALID_JSON",
      [call(0, "[1]"), call(1, "{"), stop("tool_use")],
      [
        { type: "tool_use", id: "t0", name: "f", input: { INVALID_JSON: "[1]" } },
        { type: "tool_use", id: "t1", name: "f", input: { INVALID_JSON: "{" } },
      ],
    ],
    [
      "an argument named __proto__",
      [call(0, '{"__proto__":{"x":1}}'), stop("tool_use")],
      [{ type: "tool_use", id: "t0", name: "f", input: JSON.parse('{"__proto__":{"x":1}}') }],
    ],
    [
      "complete thinking without a signature",
      [thinking(0), stop("end_turn")],
      [{ type: "thinking", thinking: "Hm", signature: "" }],
    ],
    ["no thinking that is cut off", [text(0, "a"), thinking(1), stop("max_tokens")], [{ type: "text", text: "a" }]],
    ["no server tool call that is cut off", [input(0, { type: "server_tool_use", id: "s" }, '{"q"'), stop("max_tokens")], []],
    ["nothing if the message is a refusal", [thinking(0, "s"), text(1, "a"), stop("refusal")], []],
    ["nothing if message_stop is missing", [text(0, "a")], []],
    [
      "each block only once if message_start arrives twice",
      [[opening(), opening()], text(0, "a"), stop("end_turn")],
      [{ type: "text", text: "a" }],
    ],
  ])("contains %s", ([, events, providerMetadata]) => {
    expect(metadataOf(read(events.flat()))).toEqual(providerMetadata.map((block) => ({ content_block: block })));
  });

  it("contains the last container that is not null", () => {
    const events = [opening({ container: { id: "c1" } }), ...stop("end_turn", { container: { id: "c2", expires_at: "2999" } })];
    expect(metadataOf(read(events))).toEqual([{ container: { id: "c2", expires_at: "2999" } }]);
    expect(metadataOf(read([opening({ container: { id: "c1" } }), ...stop("end_turn", { container: null })]))).toEqual([
      { container: { id: "c1" } },
    ]);
  });

  it("is unaffected by later changes to the events", () => {
    const block = { type: "novelty", deep: { n: 1 } };
    const out: ModelChunk[] = [];
    const reader = createMessagesReader(out);
    reader.read(begin(0, block));
    block.deep.n = 2;
    for (const event of stop("end_turn")) reader.read(event);
    reader.end();
    expect(metadataOf(out)).toEqual([{ content_block: { type: "novelty", deep: { n: 1 } } }]);
  });
});

it("anthropicMessages: the provider metadata of a stream contains too deeply nested arguments as text", () => {
  const json = `${'{"a":'.repeat(999)}1${"}".repeat(999)}`;
  expect(metadataOf(read([...call(0, json), ...stop("tool_use")]))).toEqual([
    { content_block: { type: "tool_use", id: "t0", name: "f", input: { INVALID_JSON: json } } },
  ]);
});
