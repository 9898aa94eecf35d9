import { describe, expect, it } from "vitest";
import { call, choice, type Fields, linesOf, read, text, usage } from "../../test/wire/chat-chunks.ts";

/** A chunk with token counts and a delta. OpenRouter sends one with an empty delta last; other servers send one for every delta. */
const counted = (delta: unknown = { content: "" }): Fields => ({ ...choice(delta), usage });
const final = { choices: [], usage };
const spent = "usage 3 2 snapshot";

describe("openaiChat with a stream that has no finish reason", () => {
  it.for<[what: string, chunks: readonly unknown[], lines: readonly string[]]>([
    [
      'has the finish reason "stop" if the final usage arrives',
      [text("Hi"), final],
      ["text Hi", spent, "finish stop (undefined)"],
    ],
    [
      'has the finish reason "stop" if usage arrives with an empty delta',
      [text("Hi"), counted()],
      ["text Hi", spent, "finish stop (undefined)"],
    ],
    [
      "completes a call with complete arguments",
      [call('{"n":1}'), choice({ role: "assistant" }), counted()],
      ["start f", 'call-args {"n":1}', spent, 'ready f {"n":1}', "finish tool-calls (undefined)"],
    ],
    ["completes a call without arguments", [call(""), final], ["start f", spent, "ready f {}", "finish tool-calls (undefined)"]],
    [
      "marks a call with incomplete arguments as truncated",
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
    ["yields no finish if there is no usage", [text("Hi")], ["text Hi"]],
    [
      "yields no finish if there is no content",
      [{ choices: [], usage: { ...usage, completion_tokens: 0 } }],
      ["usage 3 0 snapshot"],
    ],
    ["yields no finish if usage arrives before the content", [counted(), text("Hi")], [spent, "text Hi"]],
    ["yields no finish if content follows the final usage", [text("Hi"), final, text("!")], ["text Hi", spent, "text !"]],
    ["yields no finish if every chunk has usage", [counted({ content: "Hi" }), counted()], ["text Hi", spent, spent]],
    [
      "yields no finish if the last usage arrives with content",
      [text("Hi"), counted({ content: "!" })],
      ["text Hi", "text !", spent],
    ],
  ])("%s", ([, chunks, lines]) => {
    expect(linesOf(read(chunks))).toEqual(lines);
  });
});
