// Streams without a finish reason.

import { describe, expect, it } from "vitest";
import { call, choice, type Fields, linesOf, read, text, usage } from "../../test/wire/chat-chunks.ts";

/** Counts with an empty delta, which OpenRouter sends last, and other servers in each chunk. */
const counted = (delta: unknown = { content: "" }): Fields => ({ ...choice(delta), usage });
const final = { choices: [], usage };
const spent = "usage 3 2 snapshot";

describe("a stream that never says why the model stopped", () => {
  it.for<[what: string, chunks: readonly unknown[], lines: readonly string[]]>([
    ["ends with the final counts", [text("Hi"), final], ["text Hi", spent, "finish stop (undefined)"]],
    ["ends with counts beside an empty delta", [text("Hi"), counted()], ["text Hi", spent, "finish stop (undefined)"]],
    [
      "runs a call whose arguments are whole",
      [call('{"n":1}'), choice({ role: "assistant" }), counted()],
      ["start f", 'call-args {"n":1}', spent, 'ready f {"n":1}', "finish tool-calls (undefined)"],
    ],
    ["runs a call without arguments", [call(""), final], ["start f", spent, "ready f {}", "finish tool-calls (undefined)"]],
    [
      "does not run a call whose arguments are not whole",
      [call('{"n":1}'), choice({ tool_calls: [{ index: 1, id: "b", function: { name: "g", arguments: `{"n` } }] }), final],
      [
        "start f",
        'call-args {"n":1}',
        'ready f {"n":1}',
        "start g",
        `call-args {"n`,
        spent,
        "ready g truncated",
        "finish tool-calls (undefined)",
      ],
    ],
    ["is cut without counts", [text("Hi")], ["text Hi"]],
    ["is cut before it says anything", [{ choices: [], usage: { ...usage, completion_tokens: 0 } }], ["usage 3 0 snapshot"]],
    ["is cut after counts that came first", [counted(), text("Hi")], [spent, "text Hi"]],
    ["is cut after the final counts, which were not", [text("Hi"), final, text("!")], ["text Hi", spent, "text !"]],
    ["is cut among counts in every chunk", [counted({ content: "Hi" }), counted()], ["text Hi", spent, spent]],
    ["is cut with counts in its last piece", [text("Hi"), counted({ content: "!" })], ["text Hi", "text !", spent]],
  ])("%s", ([, chunks, lines]) => {
    expect(linesOf(read(chunks))).toEqual(lines);
  });
});
