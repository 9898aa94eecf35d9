// The parts of a stream that are sent back.

import { describe, expect, it } from "vitest";
import type { ModelChunk } from "../core/provider-kit.ts";
import { createMessagesReader } from "./messages-events.ts";
import { begin, call, delta, input, opening, read, stop, text, thinking } from "../../test/wire/messages-events.ts";

const metadataOf = (chunks: readonly ModelChunk[]): readonly unknown[] =>
  chunks.flatMap((chunk) => (chunk.type === "provider-metadata" ? [chunk.item] : []));

describe("what is sent back of a stream", () => {
  it.for<[what: string, events: readonly (readonly unknown[])[], providerMetadata: readonly unknown[]]>([
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
      "no field in a block of another kind",
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
  ])("keeps to be sent back: %s", ([, events, providerMetadata]) => {
    expect(metadataOf(read(events.flat()))).toEqual(providerMetadata.map((block) => ({ content_block: block })));
  });

  it("keeps the container that was named last", () => {
    const events = [opening({ container: { id: "c1" } }), ...stop("end_turn", { container: { id: "c2", expires_at: "2999" } })];
    expect(metadataOf(read(events))).toEqual([{ container: { id: "c2", expires_at: "2999" } }]);
    expect(metadataOf(read([opening({ container: { id: "c1" } }), ...stop("end_turn", { container: null })]))).toEqual([
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
    expect(metadataOf(out)).toEqual([{ content_block: { type: "novelty", deep: { n: 1 } } }]);
  });
});

it("arguments that are nested past any use are sent back as a text", () => {
  const json = `${'{"a":'.repeat(999)}1${"}".repeat(999)}`;
  expect(metadataOf(read([...call(0, json), ...stop("tool_use")]))).toEqual([
    { content_block: { type: "tool_use", id: "t0", name: "f", input: { INVALID_JSON: json } } },
  ]);
});
