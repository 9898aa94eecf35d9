import { describe, expect, it } from "vitest";
import { added, at, brief, call, completed, done, message, read } from "../../test/wire/responses-events.ts";

const whole = ['text "Hello"', "finish stop completed"];

describe("openaiResponses with refusals and reasoning in the stream", () => {
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
      "a refusal that arrives whole",
      [done(0, message("m", "", { content: [{ type: "refusal", refusal: "No" }] })), completed()],
      ['refusal "No"', "finish refusal completed"],
    ],
    [
      "a refusal and a call",
      [done(0, message("m", "", { content: [{ type: "refusal", refusal: "No" }] })), done(1, call("c", "1", "")), completed()],
      ['refusal "No"', "start item-1 1 f", "ready item-1 1 f {}", "finish refusal completed"],
    ],
    [
      "nothing from an empty refusal",
      [done(0, message("m", "Hello", { content: [{ type: "refusal", refusal: "" }] })), completed()],
      ["finish stop completed"],
    ],
    [
      "reasoning in separate parts",
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
      "reasoning from the summary and the content of one item",
      [
        done(0, {
          type: "reasoning",
          id: "r",
          summary: [{ type: "summary_text", text: "A" }],
          content: [{ type: "reasoning_text", text: "B" }],
        }),
        completed(),
      ],
      ['reasoning "A"', 'reasoning "\\n\\nB"', "finish stop completed"],
    ],
    [
      "reasoning content that arrives in pieces",
      [
        added(0, { type: "reasoning", id: "r", summary: [], content: [] }),
        at("reasoning_text.delta", [0, "r"], { content_index: 0, delta: "H" }),
        at("content_part.done", [0, "r"], { content_index: 0, part: { type: "reasoning_text", text: "Hm" } }),
        completed(),
      ],
      ['reasoning "H"', 'reasoning "m"', "finish stop completed"],
    ],
    [
      "reasoning that arrives whole before text",
      [
        done(0, { type: "reasoning", id: "r", summary: [{ type: "summary_text", text: "Hm" }] }),
        done(1, message("m", "Hello")),
        completed(),
      ],
      ['reasoning "Hm"', ...whole],
    ],
    [
      "nothing from unknown events and items",
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
      "nothing from events with missing fields",
      [
        { type: "response.output_item.added" },
        { type: "response.output_item.done", item: "x" },
        { type: "response.content_part.done" },
        { type: "response.output_text.delta" },
        completed(null, "x"),
      ],
      ["finish stop completed"],
    ],
  ])("reads %s", ([, events, said]) => {
    expect(brief(read(events))).toEqual(said);
  });
});
