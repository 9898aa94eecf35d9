// The texts of a response, however a server sends them.

import { describe, expect, it } from "vitest";
import { added, at, brief, call, completed, done, message, piece, read } from "../../../test/wire/responses-events.ts";

const hello = ['text "Hel"', 'text "lo"', "finish stop completed"];
const whole = ['text "Hello"', "finish stop completed"];
describe("a text", () => {
  it.for<[how: string, events: readonly unknown[], said: readonly string[]]>([
    ["in pieces", [added(0, message("m", "")), piece(0, "m", "Hel"), piece(0, "m", "lo"), completed()], hello],
    [
      "in pieces, then whole in every way",
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
    ["in pieces of an item that was never begun", [piece(0, "m", "Hel"), piece(0, "m", "lo"), completed()], hello],
    [
      "in pieces without any address",
      [{ type: "response.output_text.delta", delta: "Hel" }, { type: "response.output_text.delta", delta: "lo" }, completed()],
      hello,
    ],
    [
      "in pieces of an item that is begun late",
      [piece(0, "m", "Hel"), added(0, message("m", "")), piece(0, "m", "lo"), done(0, message("m", "Hello")), completed()],
      hello,
    ],
    [
      "under another id in each event",
      [
        added(0, message("a", "")),
        piece(0, "b", "Hel"),
        piece(0, "c", "lo"),
        done(0, message("d", "Hello")),
        completed(message("e", "Hello")),
      ],
      hello,
    ],
    [
      "only whole, as output_text.done",
      [at("output_text.done", [0, "m"], { content_index: 0, text: "Hello" }), completed()],
      whole,
    ],
    [
      "only whole, as content_part.done",
      [at("content_part.done", [0, "m"], { content_index: 0, part: { type: "output_text", text: "Hello" } }), completed()],
      whole,
    ],
    ["only as a finished item", [done(0, message("m", "Hello")), completed()], whole],
    ["only at the end", [completed(message("m", "Hello"))], whole],
    [
      "as the rest of its pieces",
      [piece(0, "m", "Hel"), done(0, message("m", "Hello")), completed(message("m", "Hello"))],
      hello,
    ],
    ["as the rest of its pieces, at the end", [piece(0, "m", "Hel"), completed(message("m", "Hello"))], hello],
    [
      "that is not what its pieces were",
      [piece(0, "m", "Hel"), done(0, message("m", "Goodbye")), completed()],
      ['text "Hel"', "finish stop completed"],
    ],
    ["with a piece that comes too late", [done(0, message("m", "Hello")), piece(0, "m", "lo"), completed()], whole],
    [
      "of several parts",
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
      "of several messages, which stand apart",
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
      "of several messages at one time",
      [piece(0, "a", "A"), piece(1, "b", "B"), piece(0, "a", "a"), completed()],
      ['text "A"', 'text "\\n\\nB"', 'text "\\n\\na"', "finish stop completed"],
    ],
    [
      "of messages of one id",
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
      "of messages of one place",
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
      "beside a place that belongs to a call",
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
      "that is empty",
      [added(0, message("m", "")), piece(0, "m", ""), done(0, message("m", "")), completed()],
      ["finish stop completed"],
    ],
  ])("%s", ([, events, said]) => {
    expect(brief(read(events))).toEqual(said);
  });

  it.for<[what: string, events: readonly unknown[], said: readonly string[]]>([
    [
      "a refusal in pieces",
      [
        at("refusal.delta", [0, "m"], { content_index: 0, delta: "N" }),
        at("refusal.delta", [0, "m"], { content_index: 0, delta: "o" }),
        at("refusal.done", [0, "m"], { content_index: 0, refusal: "No" }),
        completed(),
      ],
      ['refusal "N"', 'refusal "o"', "finish refusal completed"],
    ],
    [
      "a refusal as a whole",
      [done(0, message("m", "", { content: [{ type: "refusal", refusal: "No" }] })), completed()],
      ['refusal "No"', "finish refusal completed"],
    ],
    [
      "a refusal beside a call",
      [done(0, message("m", "", { content: [{ type: "refusal", refusal: "No" }] })), done(1, call("c", "1", "")), completed()],
      ['refusal "No"', "start item-1 1 f", "ready item-1 1 f {}", "finish refusal completed"],
    ],
    [
      "a refusal that says nothing",
      [done(0, message("m", "Hello", { content: [{ type: "refusal", refusal: "" }] })), completed()],
      ["finish stop completed"],
    ],
    [
      "reasoning, its parts apart",
      [
        added(0, { type: "reasoning", id: "r", summary: [] }),
        at("reasoning_summary_text.delta", [0, "r"], { summary_index: 0, delta: "A" }),
        at("reasoning_summary_text.delta", [0, "r"], { summary_index: 0, delta: "a" }),
        at("reasoning_summary_text.done", [0, "r"], { summary_index: 0, text: "Aa" }),
        at("reasoning_summary_text.delta", [0, "r"], { summary_index: 1, delta: "B" }),
        at("reasoning_summary_part.done", [0, "r"], { summary_index: 1, part: { type: "summary_text", text: "Bb" } }),
        done(0, {
          type: "reasoning",
          id: "r",
          summary: [
            { type: "summary_text", text: "Aa" },
            { type: "summary_text", text: "Bb" },
          ],
        }),
        completed(),
      ],
      ['reasoning "A"', 'reasoning "a"', 'reasoning "\\n\\nB"', 'reasoning "b"', "finish stop completed"],
    ],
    [
      "reasoning in plain words",
      [
        added(0, { type: "reasoning", id: "r", summary: [], content: [] }),
        at("reasoning_text.delta", [0, "r"], { content_index: 0, delta: "H" }),
        at("content_part.done", [0, "r"], { content_index: 0, part: { type: "reasoning_text", text: "Hm" } }),
        completed(),
      ],
      ['reasoning "H"', 'reasoning "m"', "finish stop completed"],
    ],
    [
      "reasoning as a whole, beside a text",
      [
        done(0, { type: "reasoning", id: "r", summary: [{ type: "summary_text", text: "Hm" }] }),
        done(1, message("m", "Hello")),
        completed(),
      ],
      ['reasoning "Hm"', ...whole],
    ],
    [
      "what is unknown, as nothing",
      [
        { type: "response.audio.delta", delta: "x" },
        { type: "keepalive" },
        { type: 5 },
        null,
        "x",
        added(0, { type: "novelty", id: "n", content: "x" }),
        done(0, { type: "novelty", id: "n", content: ["x", { type: "novelty", text: "x" }] }),
        done(1, message("m", "Hello")),
        completed(),
      ],
      whole,
    ],
    [
      "events without what they need, as nothing",
      [
        { type: "response.output_item.added" },
        { type: "response.output_item.done", item: "x" },
        { type: "response.content_part.done" },
        { type: "response.output_text.delta" },
        completed(null, "x"),
      ],
      ["finish stop completed"],
    ],
  ])("%s", ([, events, said]) => {
    expect(brief(read(events))).toEqual(said);
  });
});
