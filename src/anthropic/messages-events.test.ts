import { describe, expect, it } from "vitest";
import type { ModelChunk } from "../core/index.ts";
import { begin, call, delta, input, opening, read, stop, text, thinking } from "../../test/wire/messages-events.ts";

const linesOf = (chunks: readonly ModelChunk[]): readonly string[] =>
  chunks.flatMap((chunk) => {
    if (chunk.type === "provider-metadata") return [];
    if (chunk.type === "call-ready") return `ready ${chunk.id} ${chunk.problem ?? JSON.stringify(chunk.args)}`;
    if (chunk.type === "finish") return `finish ${chunk.reason} (${chunk.raw})`;
    if (chunk.type === "usage") return `usage ${chunk.usage.inputTokens} ${chunk.usage.outputTokens} ${chunk.mode}`;
    if (chunk.type === "error") return `error ${chunk.error.code}: ${chunk.error.message}`;
    if (chunk.type === "call-start") return `start ${chunk.key} ${chunk.id} ${chunk.name}`;
    return "text" in chunk ? `${chunk.type.replace("-delta", "")} ${chunk.text}` : chunk.type;
  });

describe("anthropicMessages: the chunks of a stream", () => {
  it.for<[what: string, events: readonly (readonly unknown[])[], lines: readonly string[]]>([
    ["text", [text(0, "Hello"), stop("end_turn")], ["text Hello", "finish stop (end_turn)"]],
    [
      "text from content_block_start",
      [[begin(0, { type: "text", text: "Hi" })], stop("end_turn")],
      ["text Hi", "finish stop (end_turn)"],
    ],
    ["thinking", [thinking(0, "s"), text(1, "a"), stop("end_turn")], ["reasoning Hm", "text a", "finish stop (end_turn)"]],
    [
      "call-ready for the last call when the stop reason arrives",
      [call(0, '{"n"', ":1}"), stop("tool_use")],
      ["start block-0 t0 f", 'call-args {"n"', "call-args :1}", 'ready t0 {"n":1}', "finish tool-calls (tool_use)"],
    ],
    [
      "call-ready for a call when the next call starts",
      [call(0, "{}"), call(1), stop("tool_use")],
      ["start block-0 t0 f", "call-args {}", "ready t0 {}", "start block-1 t1 f", "ready t1 {}", "finish tool-calls (tool_use)"],
    ],
    ["no call-ready for the last call if the stop reason is missing", [call(0, "{}")], ["start block-0 t0 f", "call-args {}"]],
    [
      'call-ready with the problem "malformed" for incomplete arguments',
      [call(0, "{"), stop("tool_use")],
      ["start block-0 t0 f", "call-args {", "ready t0 malformed", "finish tool-calls (tool_use)"],
    ],
    [
      'call-ready with the problem "truncated" for the last call of a cut-off answer',
      [call(0, "{}"), stop("max_tokens")],
      ["start block-0 t0 f", "call-args {}", "ready t0 truncated", "finish length (max_tokens)"],
    ],
    [
      "call-ready without a problem for a call before cut-off text",
      [call(0, "{}"), text(1, "a"), stop("max_tokens")],
      ["start block-0 t0 f", "call-args {}", "ready t0 {}", "text a", "finish length (max_tokens)"],
    ],
    [
      "a call that arrives whole",
      [[begin(0, { type: "tool_use", id: "t0", name: "f", input: { n: 1 } })], stop("tool_use")],
      ["start block-0 t0 f", 'call-args {"n":1}', 'ready t0 {"n":1}', "finish tool-calls (tool_use)"],
    ],
    [
      "one call if its start arrives twice",
      [call(0).slice(0, 1), call(0, '{"n":1}'), stop("tool_use")],
      ["start block-0 t0 f", 'call-args {"n":1}', 'ready t0 {"n":1}', "finish tool-calls (tool_use)"],
    ],
    [
      "a call from a message that arrives whole",
      [
        [opening({ content: [{ type: "tool_use", id: "t0", name: "f", input: { n: 1 } }], stop_reason: "tool_use" })],
        [{ type: "message_stop" }],
      ],
      ["start block-0 t0 f", 'call-args {"n":1}', 'ready t0 {"n":1}', "finish tool-calls (tool_use)"],
    ],
    [
      "no server tool calls",
      [
        input(0, { type: "server_tool_use", id: "s", name: "web_search" }, '{"q":1}'),
        input(1, { type: "mcp_tool_use", id: "s2", name: "f" }, "{}"),
        stop("pause_turn"),
      ],
      ["finish paused (pause_turn)"],
    ],
    [
      "usage as snapshots",
      [
        [opening({ usage: { input_tokens: 3, output_tokens: 1 } })],
        [{ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } }, { type: "message_stop" }],
      ],
      ["usage 3 1 snapshot", "usage 3 9 snapshot", "finish stop (end_turn)"],
    ],
    [
      "a refusal with its explanation",
      [stop("refusal", { stop_details: { explanation: " Not this. " } })],
      ["refusal Not this.", "finish refusal (refusal)"],
    ],
    [
      "a refusal after text",
      [text(0, "Sure"), stop("refusal", { stop_details: { explanation: "Not this." } })],
      ["text Sure", "refusal \n\nNot this.", "finish refusal (refusal)"],
    ],
    [
      "a refusal with a category",
      [stop("refusal", { stop_details: { category: "cyber", explanation: "Not this." } })],
      ["refusal Not this. Category: cyber.", "finish refusal (refusal)"],
    ],
    [
      "a refusal with only a category",
      [stop("refusal", { stop_details: { category: "cyber", explanation: null } })],
      ["refusal Category: cyber.", "finish refusal (refusal)"],
    ],
    ["a refusal without an explanation", [stop("refusal", { stop_details: null })], ["finish refusal (refusal)"]],
    ["no finish if the stop reason is missing", [text(0, "a"), [{ type: "message_stop" }]], ["text a"]],
    ["a finish if message_stop is missing", [text(0, "a"), stop("end_turn").slice(0, 1)], ["text a", "finish stop (end_turn)"]],
    ["no finish if the stop reason and message_stop are missing", [text(0, "a")], ["text a"]],
    [
      "an error if a second message starts before the first is complete",
      [[opening({ id: "msg_1" })], text(0, "a"), call(1, '{"n":'), [opening({ id: "msg_2" })], call(0, "{}"), stop("tool_use")],
      [
        "text a",
        "start block-1 t1 f",
        'call-args {"n":',
        "error stream-ended-early: The service began another answer before the first was complete.",
      ],
    ],
    [
      "one message if message_start is repeated",
      [[opening({ id: "msg_1" }), opening({ id: "msg_1" }), opening({ id: null })], text(0, "a"), stop("end_turn")],
      ["text a", "finish stop (end_turn)"],
    ],
    [
      "nothing from a second message after message_stop",
      [[opening({ id: "msg_1" })], text(0, "a"), stop("end_turn"), [opening({ id: "msg_2" })], text(0, "b")],
      ["text a", "finish stop (end_turn)"],
    ],
    ["no text that arrives after message_stop", [stop("end_turn"), text(0, "a")], ["finish stop (end_turn)"]],
    [
      "an error for an error event",
      [text(0, "a"), [{ type: "error", error: { type: "overloaded_error", message: "Busy." } }], stop("end_turn")],
      ["text a", "error overloaded: Busy."],
    ],
    [
      "an error for an error event without a message",
      [[{ type: "error" }]],
      ["error server: The service sent an error without a message."],
    ],
    [
      "an error if a completed call gets more arguments",
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
      "nothing from unknown events and blocks",
      [
        ["x", null, { type: "ping" }, { type: "novelty" }, { type: "message_start" }, { type: "message_delta" }],
        [
          begin(0, { type: "novelty" }),
          delta(0, { type: "novelty_delta", x: 1 }),
          delta(7, { type: "signature_delta", signature: "s" }),
        ],
        [
          { type: "content_block_start", index: 1 },
          { type: "content_block_delta", index: 1 },
        ],
        stop("end_turn"),
      ],
      ["finish stop (end_turn)"],
    ],
    [
      "text and thinking from deltas without a matching block",
      [
        [delta(7, { type: "text_delta", text: "a" }), delta(7, { type: "text_delta", text: "b" })],
        call(0),
        [delta(0, { type: "thinking_delta", thinking: "c" })],
        stop("end_turn"),
      ],
      ["text a", "text b", "start block-1 t0 f", "ready t0 {}", "reasoning c", "finish tool-calls (end_turn)"],
    ],
  ])("contain %s", ([, events, lines]) => {
    expect(linesOf(read(events.flat()))).toEqual(lines);
  });
});
