import { describe, expect, it } from "vitest";
import { added, argsPiece, at, brief, call, completed, done, message, read } from "../../test/wire/responses-events.ts";

const ready = (key: string, id: string, args = '{"n":1}'): string => `ready ${key} ${id} f ${args}`;

describe("createResponsesReader: calls", () => {
  const pieces = [argsPiece(0, "c", '{"n"'), argsPiece(0, "c", ":1}")];
  const told = ["start item-0 1 f", 'args item-0 {"n"', "args item-0 :1}", ready("item-0", "1"), "finish tool-calls completed"];
  const atOnce = ["start item-0 1 f", 'args item-0 {"n":1}', ready("item-0", "1"), "finish tool-calls completed"];
  it.for<[how: string, events: readonly unknown[], said: readonly string[]]>([
    ["in pieces", [added(0, call("c", "1", "")), ...pieces, completed()], told],
    [
      "in pieces, then whole in every form",
      [
        added(0, call("c", "1", "")),
        ...pieces,
        at("function_call_arguments.done", [0, "c"], { arguments: '{"n":1}' }),
        done(0, call("c", "1", '{"n":1}')),
        completed(call("c", "1", '{"n":1}')),
      ],
      told,
    ],
    ["in pieces before its name", [...pieces, done(0, call("c", "1", '{"n":1}')), completed()], atOnce],
    ["in pieces, named at the end", [...pieces, completed(call("c", "1", '{"n":1}'))], atOnce],
    [
      "only in arguments.done",
      [added(0, call("c", "1", "")), at("function_call_arguments.done", [0, "c"], { arguments: '{"n":1}' }), completed()],
      atOnce,
    ],
    [
      "only in arguments.done, with its name",
      [at("function_call_arguments.done", [0, "c"], { arguments: '{"n":1}', name: "f", call_id: "1" }), completed()],
      atOnce,
    ],
    ["only in a finished item", [done(0, call("c", "1", '{"n":1}')), completed()], atOnce],
    ["only in response.completed", [completed(call("c", "1", '{"n":1}'))], atOnce],
    [
      "with another id in each event",
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
      "with another call id in response.completed",
      [done(0, call("a", "1", '{"n":1}')), completed(call("b", "2", '{"n":1}'))],
      atOnce,
    ],
    [
      "finished twice at one index, with other ids",
      [done(0, call("a", "1", '{"n":1}')), done(0, call("b", "1", '{"n":1}')), completed()],
      atOnce,
    ],
    [
      "and a different one with the same call id",
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
      "finished twice without an index or an id",
      [done(null, call(null, "1", '{"n":1}')), done(null, call(null, "1", '{"n":1}')), completed()],
      atOnce,
    ],
    ["with arguments as an object", [done(0, call("c", "1", { n: 1 })), completed()], atOnce],
    [
      "whose pieces differ from its arguments",
      [added(0, call("c", "1", "")), argsPiece(0, "c", "x"), done(0, call("c", "1", '{"n":1}')), completed()],
      ["start item-0 1 f", "args item-0 x", ready("item-0", "1"), "finish tool-calls completed"],
    ],
    [
      "at an index that a message uses",
      [added(0, call("c", "1", "")), added(0, message("m", "")), argsPiece(0, "x", '{"n":1}'), completed()],
      atOnce,
    ],
    [
      "and another one, reordered and with other ids in response.completed",
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
      "whose finished item lacks its arguments",
      [added(0, call("c", "1", "")), ...pieces, done(0, call("c", "1", "")), completed()],
      told,
    ],
    [
      "without a call_id",
      [done(0, call("c", undefined, "{}")), completed()],
      ["start item-0 c f", "args item-0 {}", ready("item-0", "c", "{}"), "finish tool-calls completed"],
    ],
    [
      "without any id",
      [done(0, call(undefined, undefined, "{}")), completed()],
      ["start item-0 undefined f", "args item-0 {}", ready("item-0", "undefined", "{}"), "finish tool-calls completed"],
    ],
    [
      "whose arguments are not JSON",
      [done(0, call("c", "1", '{"n":')), completed()],
      ["start item-0 1 f", 'args item-0 {"n":', `${ready("item-0", "1", "{}")} malformed`, "finish tool-calls completed"],
    ],
    [
      "that is never finished",
      [added(0, call("c", "1", "")), argsPiece(0, "c", "{"), completed()],
      ["start item-0 1 f", "args item-0 {", `${ready("item-0", "1", "{}")} malformed`, "finish tool-calls completed"],
    ],
    [
      "after a text",
      [done(0, message("m", "Hello")), done(1, call("c", "1", "{}")), completed()],
      ['text "Hello"', "start item-1 1 f", "args item-1 {}", ready("item-1", "1", "{}"), "finish tool-calls completed"],
    ],
    [
      "and another one with interleaved pieces",
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
      "and another one at the same index",
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
      "and another one with the same id",
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
      "and other items that are only in response.completed",
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
});
