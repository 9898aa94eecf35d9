import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toJson } from "./json.ts";

function roundTrip(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function cycleBelow(levels: number): unknown {
  const ring: { next?: unknown } = {};
  ring.next = [ring];
  let value: unknown = ring;
  for (let level = 0; level < levels; level++) value = { down: value };
  return value;
}

function nested(levels: number): unknown {
  let value: unknown = "bottom";
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { down: value };
  return value;
}

describe("toJson", () => {
  it("equals a JSON round trip for any value that has one", () => {
    const anything = fc.anything({
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withObjectString: true,
      withSparseArray: true,
      withTypedArray: true,
      stringUnit: "binary",
      key: fc.oneof(fc.string(), fc.constantFrom("__proto__", "toJSON", "constructor", "0", "length")),
    });
    fc.assert(
      fc.property(anything, (value) => {
        fc.pre(JSON.stringify(value) !== undefined);
        const copy = toJson(value);
        // `isDeepStrictEqual` compares prototypes and keys such as "constructor" and "__proto__". The comparison of texts
        // checks key order.
        expect(isDeepStrictEqual(copy, roundTrip(value))).toBe(true);
        expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
      }),
      { numRuns: 2_000 },
    );
  });

  it("copies plain data without changes", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = toJson(value);
        expect(isDeepStrictEqual(copy, roundTrip(value))).toBe(true);
        if (typeof value === "object" && value !== null) expect(copy).not.toBe(value);
      }),
    );
  });

  it.for<[what: string, value: unknown]>([
    ["a date", { at: new Date(0), never: new Date(Number.NaN) }],
    ["toJSON with its key", { a: { toJSON: (key: string) => `key ${key}` }, list: [{ toJSON: (key: string) => [key] }] }],
    ["toJSON that returns undefined", { a: { toJSON: () => undefined }, list: [{ toJSON: () => undefined }] }],
    ["toJSON of a function", { f: Object.assign(() => 1, { toJSON: () => "function" }), g: () => 1 }],
    ["toJSON that returns an object with toJSON", { toJSON: () => ({ toJSON: () => "not asked again" }) }],
    [
      "undefined, functions and symbols",
      { a: undefined, b: () => 1, c: Symbol("c"), [Symbol("d")]: 1, list: [undefined, () => 1, Symbol("e")] },
    ],
    ["numbers that JSON lacks", [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0]],
    ["maps, sets and regular expressions", { map: new Map([[1, 2]]), set: new Set([1]), expression: /x/ }],
    ["bytes", { bytes: new Uint8Array([1, 2]), buffer: Buffer.from("ab") }],
    ["boxed primitives", [Object(1), Object("text"), Object(false)]],
    ["holes and fields of arrays", Object.assign(new Array(3), { 1: "one", extra: true })],
    ["inherited and hidden fields", Object.defineProperty(Object.create({ inherited: 1 }), "hidden", { value: 1 })],
    [
      "an instance of a class",
      new (class Point {
        x = 1;
        #y = 2;
        get sum() {
          return this.x + this.#y;
        }
      })(),
    ],
    ["a URL", new URL("https://example.org/a?b=c")],
    ["lone surrogates", "\ud800 and \udc00"],
  ])("converts %s as JSON does", ([, value]) => {
    expect(toJson(value)).toStrictEqual(roundTrip(value));
  });

  it("keeps a key named __proto__ as data", () => {
    const hostile: unknown = JSON.parse('{"__proto__":{"admin":true},"a":[{"__proto__":1}]}');
    const copy = toJson(hostile);
    expect(JSON.stringify(copy)).toBe(JSON.stringify(hostile));
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect(copy).not.toHaveProperty("admin");
  });

  it("reads each getter once", () => {
    let reads = 0;
    const value = {
      get once() {
        return ++reads;
      },
    };
    expect(toJson(value)).toEqual({ once: 1 });
    expect(reads).toBe(1);
  });

  it.for<[problem: string, value: unknown]>([
    ["a cyclic value", cycleBelow(0)],
    ["a cyclic value", cycleBelow(500)],
    ["a cyclic value", Array.from({ length: 50 }, () => cycleBelow(3))],
    ["a cyclic value", { plain: {}, ring: cycleBelow(3) }],
    ["a value nested too deeply", nested(1_001)],
    ["a value nested too deeply", [Object.prototype, Object.prototype, nested(1_001)]],
    ["a value nested too deeply", nested(1_000_000)],
    ["a BigInt", { amount: [1n] }],
    ["a BigInt", Object(1n)],
    ["undefined", undefined],
    ["undefined", { toJSON: () => undefined }],
    ["a function", () => 1],
    ["a symbol", Symbol("x")],
  ])("throws %s for value %#", ([problem, value]) => {
    expect(() => toJson(value)).toThrow(new TypeError(problem));
  });

  it("throws a plain error for endless recursion", () => {
    const endless = { toJSON: (): unknown => toJson(endless) };
    expect(() => toJson(endless)).toThrow(new TypeError("a value nested too deeply"));
  });

  it("copies 1,000 levels, and objects that are shared but not cyclic", () => {
    expect(toJson(nested(1_000))).toStrictEqual(nested(1_000));
    const shared = { a: 1 };
    expect(toJson([shared, shared])).toStrictEqual([{ a: 1 }, { a: 1 }]);
  });

  it("throws the errors of getters and of toJSON", () => {
    const error = new RangeError("not now");
    const getter = {
      get a() {
        throw error;
      },
    };
    const method = {
      toJSON() {
        throw error;
      },
    };
    expect(() => toJson(getter)).toThrow(error);
    expect(() => toJson(method)).toThrow(error);
  });
});
