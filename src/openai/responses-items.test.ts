import { describe, expect, it } from "vitest";
import {
  added,
  argsPiece,
  at,
  brief,
  call,
  completed,
  done,
  type Fields,
  incomplete,
  message,
  read,
} from "../../test/wire/responses-events.ts";

const ready = (key: string, id: string, args = '{"n":1}'): string => `ready ${key} ${id} f ${args}`;

describe("openaiResponses with output items in the stream", () => {
  const pieces = [argsPiece(0, "c", '{"n"'), argsPiece(0, "c", ":1}")];
  const told = ["start item-0 1 f", 'args item-0 {"n"', "args item-0 :1}", ready("item-0", "1"), "finish tool-calls completed"];
  const custom = (id: unknown, callId: unknown, input: unknown): Fields => ({
    type: "custom_tool_call",
    id,
    call_id: callId,
    name: "f",
    input,
  });
  const customPiece = (delta: string): Fields => at("custom_tool_call_input.delta", [0, "c"], { delta });
  it.for<[how: string, events: readonly unknown[], args: string]>([
    [
      "that arrives in pieces",
      [
        added(0, custom("c", "1", "")),
        customPiece('say "'),
        customPiece('hi"\n'),
        done(0, custom("c", "1", 'say "hi"\n')),
        completed(),
      ],
      'say "hi"\n',
    ],
    [
      "that arrives whole",
      [added(0, custom("c", "1", "")), at("custom_tool_call_input.done", [0, "c"], { input: "SELECT 1" }), completed()],
      "SELECT 1",
    ],
    ["that is only in output_item.done", [done(0, custom("c", "1", "SELECT 1")), completed()], "SELECT 1"],
    ["whose text looks like JSON", [done(0, custom("c", "1", '{"n":1}')), completed()], '{"n":1}'],
    [
      "whose pieces split a character",
      [
        added(0, custom("c", "1", "")),
        customPiece("\ud83d"),
        customPiece("\ude00"),
        done(0, custom("c", "1", "😀")),
        completed(),
      ],
      "😀",
    ],
    [
      "whose first piece differs from the whole input",
      [customPiece("x"), done(0, custom("c", "1", "SELECT 1")), completed()],
      "SELECT 1",
    ],
  ])("reads the input of a custom tool call %s", ([, events, input]) => {
    const chunks = read(events);
    const streamed = chunks.map((chunk) => (chunk.type === "call-args-delta" ? chunk.text : "")).join("");
    expect(JSON.parse(streamed)).toEqual({ input });
    expect(chunks).toContainEqual({
      type: "call-ready",
      key: "item-0",
      id: "1",
      name: "f",
      args: { input },
      argsText: JSON.stringify({ input }),
      problem: undefined,
    });
  });

  it("marks a custom tool call in a cut-off response as truncated", () => {
    const said = brief(read([done(0, custom("c", "1", "SELECT")), incomplete("max_output_tokens")]));
    expect(said.at(-2)).toBe('ready item-0 1 f {"input":"SELECT"} truncated');
  });

  it("yields no call-args-delta for a custom tool call without input", () => {
    expect(brief(read([done(0, custom("c", "1", "")), completed()]))).toEqual([
      "start item-0 1 f",
      'ready item-0 1 f {"input":""}',
      "finish tool-calls completed",
    ]);
  });

  it("yields call-ready for a finished call only after another item starts", () => {
    const next = added(1, message("m", ""));
    const before = [added(0, call("c", "1", "")), ...pieces];
    const finished = done(0, call("c", "1", '{"n":1}'));
    const isReady = (events: readonly unknown[]): boolean => read(events).some(({ type }) => type === "call-ready");
    expect(
      [
        [...before, finished],
        [...before, next],
        [...before, finished, next],
        [...before, next, finished],
      ].map(isReady),
    ).toEqual([false, false, true, true]);
  });

  it("yields call-ready chunks in the order of the response, not of the finished calls", () => {
    const [first, second] = [call("a", "1", "{}"), call("b", "2", "{}")];
    const events = [added(0, first), added(1, second), added(2, message("m", "")), done(1, second), done(0, first)];
    expect(brief(read(events)).filter((said) => said.startsWith("ready"))).toEqual([
      ready("item-0", "1", "{}"),
      ready("item-1", "2", "{}"),
    ]);
  });

  it.for<[what: string, last: Fields, reason: string]>([
    ["by max_output_tokens", incomplete("max_output_tokens", call("c", "1", '{"n":1}')), "length max_output_tokens"],
    ["by content_filter", incomplete("content_filter"), "content-filter content_filter"],
    ["for an unknown reason", incomplete("weather"), "unknown weather"],
  ])("marks the last call as truncated if the response is cut off %s", ([, last, reason]) => {
    const events = [
      done(0, call("a", "0", "{}")),
      added(1, call("c", "1", "")),
      argsPiece(1, "c", '{"n":1}'),
      done(1, { ...call("c", "1", '{"n":1}'), status: "completed" }),
      last,
    ];
    const said = brief(read(events));
    expect(said.slice(-2)).toEqual([`${ready("item-1", "1", '{"n":1}')} truncated`, `finish ${reason}`]);
    expect(said).toContain(ready("item-0", "0", "{}"));
  });

  it("yields no call-ready if the stream breaks off during the response", () => {
    expect(brief(read([added(0, call("c", "1", "")), ...pieces, done(0, call("c", "1", '{"n":1}'))]))).toEqual(told.slice(0, 3));
  });
});
