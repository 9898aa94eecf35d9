import { describe, expect, it } from "vitest";
import { added, argsPiece, at, brief, call, completed, done, read } from "../../test/wire/responses-events.ts";

const ready = (key: string, id: string, args = '{"n":1}'): string => `ready ${key} ${id} f ${args}`;
const atOnce = ["start item-0 1 f", 'args item-0 {"n":1}', ready("item-0", "1"), "finish tool-calls completed"];

describe("openaiResponses with repeated calls in the stream", () => {
  it.for<[how: string, events: readonly unknown[], said: readonly string[]]>([
    ...[["c", "c", "c", "c"] as const, ["c", "d", "e", "f"] as const].map(
      ([first, ...ids]): [string, readonly unknown[], readonly string[]] => [
        `once if output_item.done arrives before output_item.added, with the item ids ${[first, ...ids].join(", ")}`,
        [
          done(0, call(first, "1", '{"n":1}')),
          added(0, call(ids[0], "1", "")),
          argsPiece(0, ids[1], '{"n":1}'),
          at("function_call_arguments.done", [0, ids[2]], { arguments: '{"n":1}' }),
          done(0, call(ids[2], "1", '{"n":1}')),
          completed(call(ids[2], "1", '{"n":1}')),
        ],
        atOnce,
      ],
    ),
    ...[0, 1, null].map((place): [string, readonly unknown[], readonly string[]] => [
      `once if the server sends the call again at the index ${place}`,
      [0, place].flatMap((index, time) => [
        added(index, call(`c${time}`, "1", "")),
        argsPiece(index, `c${time}`, '{"n":1}'),
        done(index, call(`c${time}`, "1", '{"n":1}')),
        ...(time === 1 ? [completed()] : []),
      ]),
      ["start item-0 1 f", 'args item-0 {"n":1}', ready("item-0", "1"), "finish tool-calls completed"],
    ]),
    [
      "and a different call with the same call id",
      [
        added(0, call("a", "1", "")),
        added(1, call("b", "1", "")),
        argsPiece(1, "b", '{"n":2}'),
        argsPiece(0, "a", '{"n":1}'),
        done(0, call("a", "1", '{"n":1}')),
        done(1, call("b", "1", '{"n":2}')),
        completed(),
      ],
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
  ])("reads a call %s", ([, events, said]) => {
    expect(brief(read(events))).toEqual(said);
  });
});
