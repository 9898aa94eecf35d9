import { describe, expect, it } from "vitest";
import { type JsonSchema } from "turnwright";
import { linesOf } from "./lines-of.ts";

describe("fromJsonSchema: a hostile value", () => {
  const node = { type: "object", properties: { child: { $ref: "#" } } } as const;
  const nest = (levels: number, key = "child"): unknown => {
    let value: unknown = {};
    for (let level = 0; level < levels; level++) value = { [key]: value };
    return value;
  };

  it("is rejected if it is nested more than 100 levels deep", () => {
    expect(linesOf(node, nest(100))).toEqual([]);
    const refused = [": The value is nested more than 100 levels deep, so it was not checked"];
    expect([linesOf(node, nest(101)), linesOf({}, nest(100_000)), linesOf({}, nest(101, "__proto__"))]).toEqual([
      refused,
      refused,
      refused,
    ]);
  });

  it("is rejected if it contains more than 20,000 values", () => {
    const list = { properties: { l: { items: { type: "number" } } } };
    expect(linesOf(list, { l: Array.from({ length: 19_998 }, () => 1) })).toEqual([]);
    const refused = [": The value has more than 20000 values, so it was not checked"];
    expect(linesOf(list, { l: Array.from({ length: 20_001 }, () => 1) })).toEqual(refused);
    expect(linesOf(list, { l: Array.from({ length: 150 }, () => Array.from({ length: 150 }, () => 1)) })).toEqual(refused);
  });

  it("is checked for uniqueItems even with thousands of items", () => {
    const unique = { properties: { l: { uniqueItems: true } } };
    const items = Array.from({ length: 9_000 }, (_, index) => ({ index }));
    expect(linesOf(unique, { l: items })).toEqual([]);
    expect(linesOf(unique, { l: [...items, 1, "1", { index: 7 }] })).toEqual([
      '"l": The items at indexes 7 and 9002 are equal, but all items must differ',
    ]);
    expect(linesOf({ uniqueItems: true }, [{ a: 1, b: 2 }, [1], "[1]", 1, "1", null, { b: 2, a: 1 }])).toEqual([
      ": The items at indexes 0 and 6 are equal, but all items must differ",
    ]);
  });

  const text = "x".repeat(1_000_000);
  const list = Array.from({ length: 19_000 }, () => 1);
  const fields = Object.fromEntries(list.map((one, index) => [`k${index}`, one]));
  const tooLong = [": The value could not be checked: it would take too long"];

  it.for<[what: string, part: JsonSchema, value: unknown]>([
    ["a pattern", { pattern: "^(x|y)*$" }, text],
    ["the keyword patternProperties", { patternProperties: { "^zz": true } }, fields],
    ["a format", { format: "uri" }, text],
    ["the keywords minLength and maxLength", { maxLength: 600_000, minLength: 900_000 }, text],
    ["the keyword items", { items: true }, list],
    ["the keyword unevaluatedItems", { unevaluatedItems: true }, list],
    ["the keyword contains", { contains: { const: 1 } }, list],
    ["the keyword propertyNames", { propertyNames: { minLength: 1 } }, fields],
    ["the keyword additionalProperties", { additionalProperties: true }, fields],
    ["the keyword unevaluatedProperties", { unevaluatedProperties: true }, fields],
  ])("is rejected if the schema scans it too often for %s", ([, part, value]) => {
    expect(linesOf({ allOf: Array.from({ length: 2_000 }, () => part) }, value)).toEqual(tooLong);
  });

  it.for<[what: string, part: JsonSchema, value: unknown]>([
    ["lengths that need no scan", { minLength: 1, maxLength: 1_000_000 }, text],
    ["an enum of strings", { enum: ["b", "a"] }, "a"],
    ["limits on the number of properties", { minProperties: 1, maxProperties: 19_000 }, { a: 1 }],
    ["a required property", { required: ["k1"], dependentRequired: { k1: ["k2"] } }, fields],
    ["unique items", { uniqueItems: true }, [{ a: 1 }, { a: 2 }]],
    ["a const array", { const: [1, { a: 2 }] }, [1, { a: 2 }]],
  ])("passes 1,000 checks for %s", ([, part, value]) => {
    expect(linesOf({ allOf: Array.from({ length: 1_000 }, () => part) }, value)).toEqual([]);
  });

  it('is rejected if it is too long for the format "regex"', () => {
    const schema = { format: "regex" };
    expect(linesOf(schema, "(?:a|b)*".repeat(1_000))).toEqual([]);
    expect(linesOf(schema, "(")).toEqual([': The string does not have the format "regex"']);
    expect(linesOf(schema, "(".repeat(100_000))).toEqual(tooLong);
  });

  it("is rejected if each nesting level doubles the number of checks", () => {
    const child = { $ref: "#/$defs/node" };
    const branches = ["a", "b"].map((name) => ({ type: "object", properties: { child }, required: [name] }));
    const schema = { $defs: { node: { anyOf: branches } }, ...child } as const;
    expect(linesOf(schema, nest(60))[0]).toMatch(/^: The value could not be checked: /);
    expect(linesOf(schema, { a: 1, child: { b: 1 } })).toEqual([]);
  });

  it("is rejected if nested references multiply its checks", () => {
    const defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, level) => [
        `d${level}`,
        { allOf: [{ $ref: `#/$defs/d${level + 1}` }, { $ref: `#/$defs/d${level + 1}` }] },
      ]),
    );
    const schema = { $defs: { ...defs, d40: {} }, $ref: "#/$defs/d0" };
    expect(linesOf(schema, {})).toEqual([": The value could not be checked: it would take too long"]);
  });

  it.for<[what: string, items: JsonSchema, fits: unknown, misfits: unknown]>([
    ["a long anyOf", { anyOf: Array.from({ length: 200 }, (_, index) => ({ const: index })) }, 7, "x"],
    ["a list of required fields", { required: Array.from({ length: 500 }, (_, index) => `r${index}`) }, 7, {}],
  ])("is rejected if too many of its items fail %s", ([, items, fits, misfits]) => {
    const schema = { properties: { l: { items } } };
    const list = (length: number, item: unknown): unknown => ({ l: Array.from({ length }, () => item) });
    expect(linesOf(schema, list(100, fits))).toEqual([]);
    expect(linesOf(schema, list(100, misfits))).toHaveLength(20);
    expect(linesOf(schema, list(10_000, misfits))).toEqual([": The value could not be checked: it would take too long"]);
  });

  it('is checked against the format "url" in linear time', () => {
    const schema = { properties: { at: { type: "string", format: "url" } } };
    expect(linesOf(schema, { at: `http://${"a".repeat(200)}!` })).toEqual([]);
  });

  it("produces at most 20 validation issues", () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, "x"]));
    expect(linesOf({ additionalProperties: { type: "number" } }, many)).toHaveLength(20);
  });

  it.for<[string, unknown]>([
    ["a lone surrogate in a key", { "\ud800": 1 }],
    ["a field that is undefined", { a: undefined }],
    ["a field that is a BigInt", { a: 1n }],
    ["a field that is a function", { a: () => 1 }],
  ])("is rejected if it has %s", ([, value]) => {
    expect(linesOf({ type: "object", additionalProperties: { type: "string" } }, value)).toHaveLength(1);
  });

  it("may have keys like __proto__, which are checked like other keys", () => {
    const closed = { type: "object", properties: { a: {} }, additionalProperties: false, required: ["constructor"] };
    expect(linesOf(closed, JSON.parse('{"__proto__":1}'))).toEqual([
      ': The required property "constructor" is missing',
      ': The property "__proto__" is unknown, and additional properties are not allowed',
    ]);
  });
});
