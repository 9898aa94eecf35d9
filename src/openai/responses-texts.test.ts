import { describe, expect, it } from "vitest";
import { added, at, brief, call, completed, done, type Fields, message, piece, read } from "../../test/wire/responses-events.ts";

const hello = ['text "Hel"', 'text "lo"', "finish stop completed"];
const partsOf = (texts: unknown): Fields =>
  message("m", "", { content: (Array.isArray(texts) ? texts : []).map((text: unknown) => ({ type: "output_text", text })) });
const whole = ['text "Hello"', "finish stop completed"];
describe("createResponsesReader: texts", () => {
  it.for<[how: string, events: readonly unknown[], said: readonly string[]]>([
    ["in pieces", [added(0, message("m", "")), piece(0, "m", "Hel"), piece(0, "m", "lo"), completed()], hello],
    [
      "in pieces, then whole in every form",
      [
        added(0, message("m", "", { content: [] })),
        at("content_part.added", [0, "m"], { content_index: 0, part: { type: "output_text", text: "" } }),
        piece(0, "m", "Hel"),
        piece(0, "m", "lo"),
        at("output_text.done", [0, "m"], { content_index: 0, text: "Hello" }),
        at("content_part.done", [0, "m"], { content_index: 0, part: { type: "output_text", text: "Hello" } }),
        done(0, message("m", "Hello")),
        completed(message("m", "Hello")),
      ],
      hello,
    ],
    ["in pieces of an item that never starts", [piece(0, "m", "Hel"), piece(0, "m", "lo"), completed()], hello],
    [
      "in pieces without an index or an id",
      [{ type: "response.output_text.delta", delta: "Hel" }, { type: "response.output_text.delta", delta: "lo" }, completed()],
      hello,
    ],
    ...[null, "0", {}].map((place): [string, readonly unknown[], readonly string[]] => [
      `in pieces with the index ${JSON.stringify(place)}`,
      [
        at("output_text.delta", [place, null], { content_index: place, delta: "Hel" }),
        at("output_text.delta", [place, null], { content_index: place, delta: "lo" }),
        done(place, message(null, "Hello")),
        completed(),
      ],
      hello,
    ]),
    [
      "in pieces of an item that starts late",
      [piece(0, "m", "Hel"), added(0, message("m", "")), piece(0, "m", "lo"), done(0, message("m", "Hello")), completed()],
      hello,
    ],
    [
      "with another id in each event",
      [
        added(0, message("a", "")),
        piece(0, "b", "Hel"),
        piece(0, "c", "lo"),
        done(0, message("d", "Hello")),
        completed(message("e", "Hello")),
      ],
      hello,
    ],
    ...[
      ["as the only part, numbered 1 (Bedrock)", 1, 1, ["Hello"]],
      ["as the only part, numbered -1", -1, -1, ["Hello"]],
      ["with different part numbers in its pieces and its whole", 0, 1, ["Hello"]],
      ["as the second part, after an empty one", 1, 1, ["", "Hello"]],
    ].map(([how, delta, end, texts]): [string, readonly unknown[], readonly string[]] => [
      String(how),
      [
        added(0, message("m", "", { content: [] })),
        at("output_text.delta", [0, "m"], { content_index: delta, delta: "Hel" }),
        at("output_text.delta", [0, "m"], { content_index: delta, delta: "lo" }),
        at("output_text.done", [0, "m"], { content_index: end, text: "Hello" }),
        at("content_part.done", [0, "m"], { content_index: end, part: { type: "output_text", text: "Hello" } }),
        done(0, partsOf(texts)),
        completed(partsOf(texts)),
      ],
      hello,
    ]),
    [
      "in two parts, numbered from 1",
      [
        at("output_text.delta", [0, "m"], { content_index: 1, delta: "Hel" }),
        at("output_text.delta", [0, "m"], { content_index: 2, delta: "lo" }),
        completed(partsOf(["Hel", "lo"])),
      ],
      hello,
    ],
    [
      "in two parts, the second one only in response.completed",
      [at("output_text.delta", [0, "m"], { content_index: 1, delta: "Hel" }), completed(partsOf(["Hel", "lo"]))],
      hello,
    ],
    [
      "that is finished before it starts",
      [done(0, message("m", "Hello")), added(0, message("m", "")), piece(0, "m", "Hello"), completed(message("m", "Hello"))],
      whole,
    ],
    ["only in output_text.done", [at("output_text.done", [0, "m"], { content_index: 0, text: "Hello" }), completed()], whole],
    [
      "only in content_part.done",
      [at("content_part.done", [0, "m"], { content_index: 0, part: { type: "output_text", text: "Hello" } }), completed()],
      whole,
    ],
    ["only in a finished item", [done(0, message("m", "Hello")), completed()], whole],
    ["only in response.completed", [completed(message("m", "Hello"))], whole],
    [
      "in pieces that its finished item completes",
      [piece(0, "m", "Hel"), done(0, message("m", "Hello")), completed(message("m", "Hello"))],
      hello,
    ],
    ["in pieces that response.completed completes", [piece(0, "m", "Hel"), completed(message("m", "Hello"))], hello],
    [
      "in pieces that differ from its finished item",
      [piece(0, "m", "Hel"), done(0, message("m", "Goodbye")), completed()],
      ['text "Hel"', "finish stop completed"],
    ],
    ["without a piece that arrives too late", [done(0, message("m", "Hello")), piece(0, "m", "lo"), completed()], whole],
    [
      "in several parts",
      [
        done(
          0,
          message("m", "", {
            content: [
              { type: "output_text", text: "Hel" },
              { type: "output_text", text: "lo" },
            ],
          }),
        ),
        completed(),
      ],
      hello,
    ],
    [
      "of several messages with a blank line between them",
      [
        added(0, message("a", "", { phase: "commentary" })),
        piece(0, "a", "One moment."),
        done(0, message("a", "One moment.", { phase: "commentary" })),
        added(2, message("b", "", { phase: "final_answer" })),
        piece(2, "b", "Mi"),
        piece(2, "b", "ld."),
        completed(),
      ],
      ['text "One moment."', 'text "\\n\\nMi"', 'text "ld."', "finish stop completed"],
    ],
    [
      "of interleaved messages",
      [piece(0, "a", "A"), piece(1, "b", "B"), piece(0, "a", "a"), completed()],
      ['text "A"', 'text "\\n\\nB"', 'text "\\n\\na"', "finish stop completed"],
    ],
    [
      "of messages with the same id",
      [
        added(0, message("m", "")),
        piece(0, "m", "A"),
        done(0, message("m", "A")),
        added(1, message("m", "")),
        piece(1, "m", "B"),
        done(1, message("m", "B")),
        completed(),
      ],
      ['text "A"', 'text "\\n\\nB"', "finish stop completed"],
    ],
    [
      "of messages at the same index",
      [
        added(0, message("a", "")),
        piece(0, "a", "A"),
        done(0, message("a", "A")),
        added(0, message("b", "")),
        piece(0, "b", "B"),
        completed(),
      ],
      ['text "A"', 'text "\\n\\nB"', "finish stop completed"],
    ],
    [
      "at an index that a call uses too",
      [
        added(0, message("m", "")),
        added(0, call("c", "1", "")),
        piece(0, "x", "Hello"),
        done(0, call("c", "1", "")),
        completed(),
      ],
      ["start item-1 1 f", 'text "Hello"', "ready item-1 1 f {}", "finish tool-calls completed"],
    ],
    [
      "of messages that start at the same index",
      [added(0, message("a", "")), piece(0, "a", "A"), added(0, message("b", "")), piece(0, "b", "B"), completed()],
      ['text "A"', 'text "\\n\\nB"', "finish stop completed"],
    ],
    [
      "at the index of a finished message",
      [done(0, message("a", "A")), piece(0, "b", "B"), completed()],
      ['text "A"', 'text "\\n\\nB"', "finish stop completed"],
    ],
    [
      "of messages with other ids in their pieces",
      [added(0, message("a", "")), added(1, message("b", "")), piece(0, "x", "A"), piece(1, "y", "B"), completed()],
      ['text "A"', 'text "\\n\\nB"', "finish stop completed"],
    ],
    [
      "with another message in response.completed, under other ids",
      [done(0, message("a", "A")), completed(message("x", "A"), message("y", "B"))],
      ['text "A"', 'text "\\n\\nB"', "finish stop completed"],
    ],
    [
      "that is empty as nothing",
      [added(0, message("m", "")), piece(0, "m", ""), done(0, message("m", "")), completed()],
      ["finish stop completed"],
    ],
  ])("reads a text %s", ([, events, said]) => {
    expect(brief(read(events))).toEqual(said);
  });
});
