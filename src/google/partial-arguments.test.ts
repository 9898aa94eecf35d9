import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PartialArguments } from "./partial-arguments.ts";

interface Entry {
  readonly [field: string]: unknown;
}

const text = (jsonPath: string, stringValue: string, willContinue?: boolean): Entry => ({
  jsonPath,
  stringValue,
  ...(willContinue === undefined ? {} : { willContinue }),
});
const count = (jsonPath: string, numberValue: number): Entry => ({ jsonPath, numberValue });

interface Read {
  readonly args: unknown;
  readonly problem: string | undefined;
  readonly told: string;
}

function read(entries: readonly unknown[]): Read {
  const args = new PartialArguments();
  const told = entries.map((entry) => args.add(entry)).join("");
  expect(args.toText().startsWith(told)).toBe(true);
  return { args: JSON.parse(args.toText()), problem: args.problem, told };
}

describe("googleGenerateContent: arguments that are streamed in partialArgs", () => {
  it.for<[what: string, entries: readonly unknown[], args: unknown]>([
    ["nothing if there are no entries", [], {}],
    ["a string", [text("$.city", "Oslo")], { city: "Oslo" }],
    ["an empty string", [text("$.city", "")], { city: "" }],
    ["a string that arrives in pieces", [text("$.a", "Os", true), text("$.a", "l", true), text("$.a", "o")], { a: "Oslo" }],
    ["a string whose last piece is empty", [text("$.a", "Oslo", true), text("$.a", "")], { a: "Oslo" }],
    ["a string with characters that JSON escapes", [text("$.a", '"\n', true), text("$.a", "\\")], { a: '"\n\\' }],
    [
      "numbers, booleans and null",
      [
        count("$.n", -1.5),
        { jsonPath: "$.t", boolValue: true },
        { jsonPath: "$.f", boolValue: false },
        { jsonPath: "$.z", nullValue: "NULL_VALUE" },
      ],
      { n: -1.5, t: true, f: false, z: null },
    ],
    ["a number with willContinue: true", [{ ...count("$.n", 1), willContinue: true }], { n: 1 }],
    [
      "arrays and objects",
      [
        count("$.a[0].x", 1),
        count("$.a[0].y", 2),
        count("$.a[1].x", 3),
        count("$.b[0][0]", 4),
        count("$.b[0][1]", 5),
        text("$.c", ""),
      ],
      { a: [{ x: 1, y: 2 }, { x: 3 }], b: [[4, 5]], c: "" },
    ],
    [
      "keys with spaces or dots, and an empty key",
      [count("$['a b'][\"c.d\"]", 1), count("$['']", 2)],
      { "a b": { "c.d": 1 }, "": 2 },
    ],
  ])("contain %s", ([, entries, args]) => {
    const told = read(entries);
    expect(told).toEqual({ args, problem: undefined, told: told.told });
  });

  it.for<[what: string, entries: readonly unknown[]]>([
    ["an entry that is null", [null]],
    ["an entry without a path", [{ stringValue: "x" }]],
    ["a path with a wildcard", [text("$.*", "x")]],
    ["a path to the root", [text("$", "x")]],
    ["an entry without a value", [{ jsonPath: "$.a" }]],
    ["NaN as a number", [{ jsonPath: "$.a", numberValue: Number.NaN }]],
    ["a second string", [text("$.a", "x"), text("$.a", "y")]],
    ["a second number", [{ ...count("$.a", 1), willContinue: true }, count("$.a", 2)]],
    ["a number inside an unfinished string", [text("$.a", "x", true), count("$.a", 1)]],
    ["a value in place of an object", [count("$.a.b", 1), count("$.a", 1)]],
    ["an object in place of a value", [count("$.a", 1), count("$.a.b", 1)]],
    ["an array in place of an object", [count("$.a.b", 1), count("$.a[0]", 1)]],
    ["an object in place of an array", [count("$.a[0]", 1), count("$.a.b", 1)]],
    ["a gap in an array", [count("$.a[1]", 1)]],
    ["an array as the root", [count("$[0]", 1)]],
    ["a value between the pieces of a string", [text("$.a", "x", true), text("$.b", "y", true)]],
    ["a second value after another value", [count("$.a", 1), count("$.b", 2), count("$.a", 3)]],
    ["a later key in an object that has ended", [count("$.a.x", 1), count("$.b", 2), count("$.a.y", 3)]],
    ["a later value in an object that has ended", [count("$.a.x", 1), count("$.b", 2), count("$.b.c", 3)]],
    ["a path that is too deep", [count(`$${".a".repeat(65)}`, 1)]],
  ])("stay malformed after %s", ([, entries]) => {
    const args = new PartialArguments();
    for (const entry of entries) args.add(entry);
    expect([args.add(count("$.later", 1)), args.problem]).toEqual(["", "malformed"]);
  });

  it("are truncated if a string is unfinished", () => {
    expect(read([count("$.b", 1), text("$.a", "x", true)])).toMatchObject({ args: { a: "x", b: 1 }, problem: "truncated" });
  });

  it("may contain keys named __proto__ and constructor", () => {
    const args = new PartialArguments();
    args.add(count("$.__proto__.polluted", 1));
    args.add(count("$.constructor.prototype.polluted", 2));
    expect(args.toText()).toBe('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}}}');
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  it("yield a delta for each entry when the entry arrives", () => {
    const args = new PartialArguments();
    const entries = [
      text("$.a", "Os", true),
      text("$.a", "lo", true),
      text("$.a", ""),
      count("$.b[0].c", 1),
      count("$.b[1].c", 2),
      count("$.d", 3),
    ];
    expect(entries.map((entry) => args.add(entry))).toEqual(['{"a":"Os', "lo", '"', ',"b":[{"c":1', '},{"c":2', '}],"d":3']);
  });

  const leaf = fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null));
  const { tree } = fc.letrec<{ tree: unknown; list: unknown; object: unknown }>((tie) => ({
    tree: fc.oneof({ maxDepth: 4 }, leaf, tie("list"), tie("object")),
    list: fc.array(tie("tree"), { minLength: 1, maxLength: 3 }),
    object: fc.dictionary(fc.string(), tie("tree"), { minKeys: 1, maxKeys: 3 }),
  }));

  function toEntries(value: unknown, path: string, length: number): readonly Entry[] {
    if (Array.isArray(value)) return value.flatMap((item, index) => toEntries(item, `${path}[${index}]`, length));
    if (typeof value === "object" && value !== null)
      return Object.entries(value).flatMap(([key, field]) => toEntries(field, `${path}[${JSON.stringify(key)}]`, length));
    if (typeof value === "number") return [count(path, value)];
    if (typeof value !== "string")
      return [value === null ? { jsonPath: path, nullValue: "NULL_VALUE" } : { jsonPath: path, boolValue: value }];
    const pieces = Array.from({ length: Math.ceil(value.length / length) }, (_, at) =>
      value.slice(at * length, (at + 1) * length),
    );
    return [...pieces.map((piece) => text(path, piece, true)), text(path, "")];
  }

  it("equal the original arguments for random values", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), tree, { maxKeys: 4 }), fc.integer({ min: 1, max: 5 }), (args, length) => {
        const whole: unknown = JSON.parse(JSON.stringify(args));
        const { told: _, ...rest } = read(toEntries(whole, "$", length));
        expect(rest).toEqual({ args: whole, problem: undefined });
      }),
    );
  });
});
