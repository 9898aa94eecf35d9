import { describe, expect, it } from "vitest";
import { added, at, brief, call, completed, done, type Fields, message, piece, read } from "../../test/wire/responses-events.ts";

const hello = ['text "Hel"', 'text "lo"', "finish stop completed"];
const partsOf = (texts: unknown): Fields =>
  message("m", "", { content: (Array.isArray(texts) ? texts : []).map((text: unknown) => ({ type: "output_text", text })) });
const whole = ['text "Hello"', "finish stop completed"];
describe("openaiResponses with text in the stream", () => {
  it.for<[how: string, events: readonly unknown[], said: readonly string[]]>([
    ["that arrives in pieces", [added(0, message("m", "")), piece(0, "m", "Hel"), piece(0, "m", "lo"), completed()], hello],
    [
      "that arrives in pieces, then whole in every possible event",
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
    ["that arrives in pieces without output_item.added", [piece(0, "m", "Hel"), piece(0, "m", "lo"), completed()], hello],
    [
      "that arrives in pieces without an index or an item id",
      [{ type: "response.output_text.delta", delta: "Hel" }, { type: "response.output_text.delta", delta: "lo" }, completed()],
      hello,
    ],
    ...[null, "0", {}].map((place): [string, readonly unknown[], readonly string[]] => [
      `that arrives in pieces whose index is ${JSON.stringify(place)}`,
      [
        at("output_text.delta", [place, null], { content_index: place, delta: "Hel" }),
        at("output_text.delta", [place, null], { content_index: place, delta: "lo" }),
        done(place, message(null, "Hello")),
        completed(),
      ],
      hello,
    ]),
    [
      "whose first piece arrives before output_item.added",
      [piece(0, "m", "Hel"), added(0, message("m", "")), piece(0, "m", "lo"), done(0, message("m", "Hello")), completed()],
      hello,
    ],
    [
      "with a different item id in each event",
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
      ["in the only part of a message, with the index 1 (Bedrock)", 1, 1, ["Hello"]],
      ["in the only part of a message, with the index -1", -1, -1, ["Hello"]],
      ["in the second part of a message, after an empty part", 1, 1, ["", "Hello"]],
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
      "in two parts whose indexes start at 1",
      [
        at("output_text.delta", [0, "m"], { content_index: 1, delta: "Hel" }),
        at("output_text.delta", [0, "m"], { content_index: 2, delta: "lo" }),
        completed(partsOf(["Hel", "lo"])),
      ],
      hello,
    ],
    [
      "in two parts, the second only in response.completed",
      [at("output_text.delta", [0, "m"], { content_index: 1, delta: "Hel" }), completed(partsOf(["Hel", "lo"]))],
      hello,
    ],
    [
      "whose output_item.done arrives before output_item.added",
      [done(0, message("m", "Hello")), added(0, message("m", "")), piece(0, "m", "Hello"), completed(message("m", "Hello"))],
      whole,
    ],
    [
      "that is only in output_text.done",
      [at("output_text.done", [0, "m"], { content_index: 0, text: "Hello" }), completed()],
      whole,
    ],
    [
      "that is only in content_part.done",
      [at("content_part.done", [0, "m"], { content_index: 0, part: { type: "output_text", text: "Hello" } }), completed()],
      whole,
    ],
    ["that is only in output_item.done", [done(0, message("m", "Hello")), completed()], whole],
    ["that is only in response.completed", [completed(message("m", "Hello"))], whole],
    [
      "whose last piece is only in output_item.done",
      [piece(0, "m", "Hel"), done(0, message("m", "Hello")), completed(message("m", "Hello"))],
      hello,
    ],
    ["whose last piece is only in response.completed", [piece(0, "m", "Hel"), completed(message("m", "Hello"))], hello],
    [
      "and ignores different text in output_item.done",
      [piece(0, "m", "Hel"), done(0, message("m", "Goodbye")), completed()],
      ['text "Hel"', "finish stop completed"],
    ],
    ["and ignores a piece after output_item.done", [done(0, message("m", "Hello")), piece(0, "m", "lo"), completed()], whole],
    [
      "in several parts of a finished message",
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
      "from several messages, separated by a blank line",
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
      "from interleaved messages, separated by blank lines",
      [piece(0, "a", "A"), piece(1, "b", "B"), piece(0, "a", "a"), completed()],
      ['text "A"', 'text "\\n\\nB"', 'text "\\n\\na"', "finish stop completed"],
    ],
    [
      "from two messages with the same item id",
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
      "from two consecutive messages at the same index",
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
      "at an index that a call also uses",
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
      "from an unfinished message and a second message at the same index",
      [added(0, message("a", "")), piece(0, "a", "A"), added(0, message("b", "")), piece(0, "b", "B"), completed()],
      ['text "A"', 'text "\\n\\nB"', "finish stop completed"],
    ],
    [
      "from a second message at the index of a finished message",
      [done(0, message("a", "A")), piece(0, "b", "B"), completed()],
      ['text "A"', 'text "\\n\\nB"', "finish stop completed"],
    ],
    [
      "from two messages whose pieces have different item ids",
      [added(0, message("a", "")), added(1, message("b", "")), piece(0, "x", "A"), piece(1, "y", "B"), completed()],
      ['text "A"', 'text "\\n\\nB"', "finish stop completed"],
    ],
    [
      "from a second message that is only in response.completed, which changes all item ids",
      [done(0, message("a", "A")), completed(message("x", "A"), message("y", "B"))],
      ['text "A"', 'text "\\n\\nB"', "finish stop completed"],
    ],
    [
      "that is empty and yields no chunk",
      [added(0, message("m", "")), piece(0, "m", ""), done(0, message("m", "")), completed()],
      ["finish stop completed"],
    ],
  ])("reads text %s", ([, events, said]) => {
    expect(brief(read(events))).toEqual(said);
  });
});
