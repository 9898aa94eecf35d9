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

const tooDeep = "a cyclic value, or more than 1,000 levels";

describe("toJson", () => {
  it("gives the same result as a JSON round trip for any value that JSON can represent", () => {
    const anything = fc.anything({
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
        expect(isDeepStrictEqual(copy, roundTrip(value))).toBe(true);
        expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
      }),
      { numRuns: 600 },
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
    ["a toJSON method that returns undefined", { a: { toJSON: () => undefined }, list: [{ toJSON: () => undefined }] }],
    ["a function with a toJSON method", { f: Object.assign(() => 1, { toJSON: () => "function" }), g: () => 1 }],
    ["a toJSON method that returns an object with toJSON", { toJSON: () => ({ toJSON: () => "not asked again" }) }],
    [
      "undefined, functions and symbols",
      { a: undefined, b: () => 1, c: Symbol("c"), [Symbol("d")]: 1, list: [undefined, () => 1, Symbol("e")] },
    ],
    ["NaN, infinite numbers and negative zero", [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0]],
    ["maps, sets and regular expressions", { map: new Map([[1, 2]]), set: new Set([1]), expression: /x/ }],
    ["bytes", { bytes: new Uint8Array([1, 2]), buffer: Buffer.from("ab") }],
    ["holes and extra fields in arrays", Object.assign(new Array(3), { 1: "one", extra: true })],
    ["inherited and non-enumerable fields", Object.defineProperty(Object.create({ inherited: 1 }), "hidden", { value: 1 })],
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
  ])("converts like JSON.stringify: %s", ([, value]) => {
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

  it.for<[what: string, problem: string, value: unknown]>([
    ["an object that contains itself", tooDeep, cycleBelow(0)],
    ["a cycle 500 levels deep", tooDeep, cycleBelow(500)],
    ["50 cycles in an array", tooDeep, Array.from({ length: 50 }, () => cycleBelow(3))],
    ["a cycle next to plain data", tooDeep, { plain: {}, ring: cycleBelow(3) }],
    ["1,001 levels of nesting", tooDeep, nested(1_001)],
    ["1,001 levels of nesting next to shared objects", tooDeep, [Object.prototype, Object.prototype, nested(1_001)]],
    ["a million levels of nesting", tooDeep, nested(1_000_000)],
    ["a BigInt in an array", "a BigInt", { amount: [1n] }],
    ["undefined", "undefined", undefined],
    ["a value whose toJSON method returns undefined", "undefined", { toJSON: () => undefined }],
    ["a function", "a function", () => 1],
    ["a symbol", "a symbol", Symbol("x")],
  ])("throws for %s", ([, problem, value]) => {
    expect(() => toJson(value)).toThrow(new TypeError(problem));
  });

  it("throws the error that a getter or a toJSON method throws", () => {
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
