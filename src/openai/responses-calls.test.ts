import { describe, expect, it } from "vitest";
import {
  added,
  argsPiece,
  at,
  brief,
  call,
  completed,
  done,
  message,
  metadataOf,
  read,
} from "../../test/wire/responses-events.ts";

const ready = (key: string, id: string, args = '{"n":1}'): string => `ready ${key} ${id} f ${args}`;

describe("openaiResponses with calls in the stream", () => {
  const pieces = [argsPiece(0, "c", '{"n"'), argsPiece(0, "c", ":1}")];
  const told = ["start item-0 1 f", 'args item-0 {"n"', "args item-0 :1}", ready("item-0", "1"), "finish tool-calls completed"];
  const atOnce = ["start item-0 1 f", 'args item-0 {"n":1}', ready("item-0", "1"), "finish tool-calls completed"];
  it.for<[how: string, events: readonly unknown[], said: readonly string[]]>([
    ["that arrives in pieces", [added(0, call("c", "1", "")), ...pieces, completed()], told],
    [
      "that arrives in pieces, then whole in every possible event",
      [
        added(0, call("c", "1", "")),
        ...pieces,
        at("function_call_arguments.done", [0, "c"], { arguments: '{"n":1}' }),
        done(0, call("c", "1", '{"n":1}')),
        completed(call("c", "1", '{"n":1}')),
      ],
      told,
    ],
    ["whose name is only in output_item.done", [...pieces, done(0, call("c", "1", '{"n":1}')), completed()], atOnce],
    ["whose name is only in response.completed", [...pieces, completed(call("c", "1", '{"n":1}'))], atOnce],
    [
      "whose arguments are only in function_call_arguments.done",
      [added(0, call("c", "1", "")), at("function_call_arguments.done", [0, "c"], { arguments: '{"n":1}' }), completed()],
      atOnce,
    ],
    [
      "that is only in function_call_arguments.done",
      [at("function_call_arguments.done", [0, "c"], { arguments: '{"n":1}', name: "f", call_id: "1" }), completed()],
      atOnce,
    ],
    ["that is only in output_item.done", [done(0, call("c", "1", '{"n":1}')), completed()], atOnce],
    ["that is only in response.completed", [completed(call("c", "1", '{"n":1}'))], atOnce],
    [
      "with a different item id in each event",
      [
        added(0, call("a", "1", "")),
        argsPiece(0, "b", '{"n"'),
        argsPiece(0, "d", ":1}"),
        done(0, call("e", "1", '{"n":1}')),
        completed(call("g", "1", '{"n":1}')),
      ],
      told,
    ],
    [
      "with a different call id in response.completed",
      [done(0, call("a", "1", '{"n":1}')), completed(call("b", "2", '{"n":1}'))],
      atOnce,
    ],
    [
      "once if output_item.done arrives twice with different item ids",
      [done(0, call("a", "1", '{"n":1}')), done(0, call("b", "1", '{"n":1}')), completed()],
      atOnce,
    ],
    [
      "and a different call with the same call id",
      [done(0, call("a", "1", '{"n":1}')), done(0, call("b", "1", '{"n":2}')), completed()],
      [
        "start item-0 1 f",
        'args item-0 {"n":1}',
        ready("item-0", "1"),
        "start item-1 1 f",
        'args item-1 {"n":2}',
        ready("item-1", "1", '{"n":2}'),
        "finish tool-calls completed",
      ],
    ],
    [
      "once if output_item.done arrives twice without an index or an item id",
      [done(null, call(null, "1", '{"n":1}')), done(null, call(null, "1", '{"n":1}')), completed()],
      atOnce,
    ],
    ["with arguments that are an object, not text", [done(0, call("c", "1", { n: 1 })), completed()], atOnce],
    [
      "whose pieces differ from the complete arguments",
      [added(0, call("c", "1", "")), argsPiece(0, "c", "x"), done(0, call("c", "1", '{"n":1}')), completed()],
      ["start item-0 1 f", "args item-0 x", ready("item-0", "1"), "finish tool-calls completed"],
    ],
    [
      "at an index that a message also uses",
      [added(0, call("c", "1", "")), added(0, message("m", "")), argsPiece(0, "x", '{"n":1}'), completed()],
      atOnce,
    ],
    [
      "and another call if response.completed reorders the calls and changes the item ids",
      [
        done(0, call("a", "1", '{"n":1}')),
        done(1, call("b", "2", '{"m":2}')),
        completed(call("y", "2", '{"m":2}'), call("x", "1", '{"n":1}')),
      ],
      [
        "start item-0 1 f",
        'args item-0 {"n":1}',
        ready("item-0", "1"),
        "start item-1 2 f",
        'args item-1 {"m":2}',
        ready("item-1", "2", '{"m":2}'),
        "finish tool-calls completed",
      ],
    ],
    [
      "without arguments",
      [added(0, call("c", "1", "")), done(0, call("c", "1", "")), completed()],
      ["start item-0 1 f", ready("item-0", "1", "{}"), "finish tool-calls completed"],
    ],
    [
      "whose arguments are missing in output_item.done",
      [added(0, call("c", "1", "")), ...pieces, done(0, call("c", "1", "")), completed()],
      told,
    ],
    [
      "without a call_id",
      [done(0, call("c", undefined, "{}")), completed()],
      ["start item-0 c f", "args item-0 {}", ready("item-0", "c", "{}"), "finish tool-calls completed"],
    ],
    [
      "without an item id or a call_id",
      [done(0, call(undefined, undefined, "{}")), completed()],
      ["start item-0 undefined f", "args item-0 {}", ready("item-0", "undefined", "{}"), "finish tool-calls completed"],
    ],
    [
      "whose arguments are not JSON as malformed",
      [done(0, call("c", "1", '{"n":')), completed()],
      ["start item-0 1 f", 'args item-0 {"n":', `${ready("item-0", "1", "{}")} malformed`, "finish tool-calls completed"],
    ],
    [
      "with incomplete arguments and no output_item.done as malformed",
      [added(0, call("c", "1", "")), argsPiece(0, "c", "{"), completed()],
      ["start item-0 1 f", "args item-0 {", `${ready("item-0", "1", "{}")} malformed`, "finish tool-calls completed"],
    ],
    [
      "after text",
      [done(0, message("m", "Hello")), done(1, call("c", "1", "{}")), completed()],
      ['text "Hello"', "start item-1 1 f", "args item-1 {}", ready("item-1", "1", "{}"), "finish tool-calls completed"],
    ],
    [
      "and another call with interleaved pieces",
      [
        added(0, call("a", "1", "")),
        added(1, call("b", "2", "")),
        argsPiece(1, "b", '{"m"'),
        argsPiece(0, "a", '{"n"'),
        argsPiece(1, "b", ":2}"),
        argsPiece(0, "a", ":1}"),
        done(1, call("b", "2", '{"m":2}')),
        done(0, call("a", "1", '{"n":1}')),
        completed(),
      ],
      [
        "start item-0 1 f",
        "start item-1 2 f",
        'args item-1 {"m"',
        'args item-0 {"n"',
        "args item-1 :2}",
        "args item-0 :1}",
        ready("item-0", "1"),
        ready("item-1", "2", '{"m":2}'),
        "finish tool-calls completed",
      ],
    ],
    [
      "and another call at the same index",
      [
        added(0, call("a", "1", "")),
        done(0, call("a", "1", '{"n":1}')),
        added(0, call("b", "2", "")),
        done(0, call("b", "2", '{"m":2}')),
        completed(),
      ],
      [
        "start item-0 1 f",
        'args item-0 {"n":1}',
        ready("item-0", "1"),
        "start item-1 2 f",
        'args item-1 {"m":2}',
        ready("item-1", "2", '{"m":2}'),
        "finish tool-calls completed",
      ],
    ],
    [
      "and another call with the same item id",
      [done(0, call("c", "1", "{}")), done(1, call("c", "2", "{}")), completed(call("c", "1", "{}"), call("c", "2", "{}"))],
      [
        "start item-0 1 f",
        "args item-0 {}",
        ready("item-0", "1", "{}"),
        "start item-1 2 f",
        "args item-1 {}",
        ready("item-1", "2", "{}"),
        "finish tool-calls completed",
      ],
    ],
    [
      "and further items that are only in response.completed",
      [done(0, call("a", "1", "{}")), completed(call("x", "1", "{}"), call("y", "2", "{}"), message("m", "Hello"))],
      [
        "start item-0 1 f",
        "args item-0 {}",
        ready("item-0", "1", "{}"),
        "start item-1 2 f",
        "args item-1 {}",
        ready("item-1", "2", "{}"),
        'text "Hello"',
        "finish tool-calls completed",
      ],
    ],
  ])("reads a call %s", ([, events, said]) => {
    expect(brief(read(events))).toEqual(said);
  });

  it("sends a call back with its streamed arguments if the finished item has none", () => {
    const events = [added(0, call("c", "1", "")), ...pieces, done(0, call("c", "1", "")), completed(call("c", "1", ""))];
    expect(metadataOf(read(events))).toMatchObject([{ output_item: { arguments: '{"n":1}' } }]);
  });
});
