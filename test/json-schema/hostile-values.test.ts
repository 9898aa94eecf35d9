// Values of a hostile model that would make a check too expensive.

import { describe, expect, it } from "vitest";
import { type JsonSchema } from "turnwright";
import { linesOf } from "./lines-of.ts";

describe("a hostile value", () => {
  const node = { type: "object", properties: { child: { $ref: "#" } } } as const;
  const nest = (levels: number, key = "child"): unknown => {
    let value: unknown = {};
    for (let level = 0; level < levels; level++) value = { [key]: value };
    return value;
  };

  it("is followed 100 levels deep", () => {
    expect(linesOf(node, nest(100))).toEqual([]);
    const refused = [": is nested more than 100 levels deep, and is not checked"];
    expect([linesOf(node, nest(101)), linesOf({}, nest(100_000)), linesOf({}, nest(101, "__proto__"))]).toEqual([
      refused,
      refused,
      refused,
    ]);
  });

  it("may have 20,000 values", () => {
    const list = { properties: { l: { items: { type: "number" } } } };
    expect(linesOf(list, { l: Array.from({ length: 19_998 }, () => 1) })).toEqual([]);
    const refused = [": has more than 20000 values, and is not checked"];
    expect(linesOf(list, { l: Array.from({ length: 20_001 }, () => 1) })).toEqual(refused);
    expect(linesOf(list, { l: Array.from({ length: 150 }, () => Array.from({ length: 150 }, () => 1)) })).toEqual(refused);
  });

  it("may have as many items that must be unique", () => {
    const unique = { properties: { l: { uniqueItems: true } } };
    const items = Array.from({ length: 9_000 }, (_, index) => ({ index }));
    expect(linesOf(unique, { l: items })).toEqual([]);
    expect(linesOf(unique, { l: [...items, 1, "1", { index: 7 }] })).toEqual(['"l": Duplicate items at indexes 7 and 9002']);
    expect(linesOf({ uniqueItems: true }, [{ a: 1, b: 2 }, [1], "[1]", 1, "1", null, { b: 2, a: 1 }])).toEqual([
      ": Duplicate items at indexes 0 and 6",
    ]);
  });

  const text = "x".repeat(1_000_000);
  const list = Array.from({ length: 19_000 }, () => 1);
  const fields = Object.fromEntries(list.map((one, index) => [`k${index}`, one]));
  const tooLong = [": could not be checked: it would take too long"];

  it.for<[what: string, part: JsonSchema, value: unknown]>([
    ["a pattern", { pattern: "^(x|y)*$" }, text],
    ["a pattern of keys", { patternProperties: { "^zz": true } }, fields],
    ["a format", { format: "uri" }, text],
    ["a count of characters", { maxLength: 600_000, minLength: 900_000 }, text],
    ["items", { items: true }, list],
    ["items that nobody has looked at", { unevaluatedItems: true }, list],
    ["an item to look for", { contains: { const: 1 } }, list],
    ["names of properties", { propertyNames: { minLength: 1 } }, fields],
    ["other properties", { additionalProperties: true }, fields],
    ["properties that nobody has looked at", { unevaluatedProperties: true }, fields],
  ])("is not gone through too often for %s", ([, part, value]) => {
    expect(linesOf({ allOf: Array.from({ length: 2_000 }, () => part) }, value)).toEqual(tooLong);
  });

  it.for<[what: string, part: JsonSchema, value: unknown]>([
    ["a length that is plain to see", { minLength: 1, maxLength: 1_000_000 }, text],
    ["one of several texts", { enum: ["b", "a"] }, "a"],
    ["a number of properties", { minProperties: 1, maxProperties: 19_000 }, { a: 1 }],
    ["a required property", { required: ["k1"], dependentRequired: { k1: ["k2"] } }, fields],
    ["unique items", { uniqueItems: true }, [{ a: 1 }, { a: 2 }]],
    ["a list like another one", { const: [1, { a: 2 }] }, [1, { a: 2 }]],
  ])("may be looked at very often for %s", ([, part, value]) => {
    expect(linesOf({ allOf: Array.from({ length: 1_000 }, () => part) }, value)).toEqual([]);
  });

  it("is not compiled as a regular expression if it is long", () => {
    const schema = { format: "regex" };
    expect(linesOf(schema, "(?:a|b)*".repeat(1_000))).toEqual([]);
    expect(linesOf(schema, "(")).toEqual([': String does not match format "regex"']);
    expect(linesOf(schema, "(".repeat(100_000))).toEqual(tooLong);
  });

  it("takes no time that doubles with each level", () => {
    const child = { $ref: "#/$defs/node" };
    const branches = ["a", "b"].map((name) => ({ type: "object", properties: { child }, required: [name] }));
    const schema = { $defs: { node: { anyOf: branches } }, ...child } as const;
    expect(linesOf(schema, nest(60))[0]).toMatch(/^: could not be checked: /);
    // Each check has a count of its own.
    expect(linesOf(schema, { a: 1, child: { b: 1 } })).toEqual([]);
  });

  it("of many references to little takes no time either", () => {
    const defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, level) => [
        `d${level}`,
        { allOf: [{ $ref: `#/$defs/d${level + 1}` }, { $ref: `#/$defs/d${level + 1}` }] },
      ]),
    );
    const schema = { $defs: { ...defs, d40: {} }, $ref: "#/$defs/d0" };
    expect(linesOf(schema, {})).toEqual([": could not be checked: it would take too long"]);
  });

  it.for<[what: string, items: JsonSchema, fits: unknown, misfits: unknown]>([
    ["an anyOf", { anyOf: Array.from({ length: 200 }, (_, index) => ({ const: index })) }, 7, "x"],
    ["a list of required fields", { required: Array.from({ length: 500 }, (_, index) => `r${index}`) }, 7, {}],
  ])("of many items is not held against %s too often", ([, items, fits, misfits]) => {
    const schema = { properties: { l: { items } } };
    const list = (length: number, item: unknown): unknown => ({ l: Array.from({ length }, () => item) });
    expect(linesOf(schema, list(100, fits))).toEqual([]);
    expect(linesOf(schema, list(100, misfits))).toHaveLength(20);
    expect(linesOf(schema, list(10_000, misfits))).toEqual([": could not be checked: it would take too long"]);
  });

  it("does not make a format take for ever", () => {
    const schema = { properties: { at: { type: "string", format: "url" } } };
    expect(linesOf(schema, { at: `http://${"a".repeat(200)}!` })).toEqual([]);
  });

  it("has at most 20 issues", () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, "x"]));
    expect(linesOf({ additionalProperties: { type: "number" } }, many)).toHaveLength(20);
  });

  it.for<[string, unknown]>([
    ["half a character as a key", { "\ud800": 1 }],
    ["undefined", { a: undefined }],
    ["a BigInt", { a: 1n }],
    ["a function", { a: () => 1 }],
  ])("that cannot be checked is refused: %s", ([, value]) => {
    expect(linesOf({ type: "object", additionalProperties: { type: "string" } }, value)).toHaveLength(1);
  });

  it("has prototype keys as data", () => {
    const closed = { type: "object", properties: { a: {} }, additionalProperties: false, required: ["constructor"] };
    expect(linesOf(closed, JSON.parse('{"__proto__":1}'))).toEqual([
      ': Instance does not have required property "constructor"',
      ': Property "__proto__" does not match additional properties schema',
    ]);
  });
});
