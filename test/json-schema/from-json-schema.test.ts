import { describe, expect, it } from "vitest";
import { createToolRegistry, defineTool, isLoopError, type JsonSchema, runToolLoop } from "turnwright";
import { fromJsonSchema } from "turnwright/json-schema";
import { createMockProvider, runTool, text, toolCall } from "turnwright/testing";
import { answersOf } from "../loop/play.ts";
import { linesOf } from "./lines-of.ts";

function check(schema: JsonSchema, value: unknown): unknown {
  return fromJsonSchema(schema)["~standard"].validate(value);
}

const place = {
  $defs: { name: { type: "string", minLength: 2 } },
  type: "object",
  properties: {
    city: { $ref: "#/$defs/name" },
    days: { type: "array", items: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } },
    unit: { enum: ["C", "F"] },
    "a/b~c d": { type: "number", minimum: 3 },
    either: { anyOf: [{ type: "string" }, { type: "null" }] },
  },
  required: ["city"],
  additionalProperties: false,
} as const satisfies JsonSchema;

describe("fromJsonSchema: validation", () => {
  it("returns a valid value unchanged", () => {
    const value = { city: "Oslo", days: [{ n: 1 }], "a/b~c d": 3, either: null };
    expect(check(place, value)).toEqual({ value });
    expect(Reflect.get(Object(check(place, value)), "value")).toBe(value);
  });

  it("does not add defaults to a valid value", () => {
    expect(check({ type: "object", properties: { unit: { type: "string", default: "C" } } }, {})).toEqual({ value: {} });
  });
});

const misfits: readonly (readonly [string, unknown, readonly string[]])[] = [
  ["a value that is not an object", null, [': The type "null" is not allowed. Expected type: "object"']],
  ["a missing field", {}, [': The required property "city" is missing']],
  ["a field in the target of a $ref", { city: 1 }, ['"city": The type "number" is not allowed. Expected type: "string"']],
  ["a string that is too short", { city: "O" }, ['"city": The string has 1 characters, but at least 2 are required']],
  [
    "two invalid items in an array",
    { city: "Oslo", days: [{ n: 1 }, { n: 1.5 }, {}] },
    [
      '"days" 1 "n": The type "number" is not allowed. Expected type: "integer"',
      '"days" 2: The required property "n" is missing',
    ],
  ],
  [
    "a field whose name has special characters",
    { city: "Oslo", "a/b~c d": 1 },
    ['"a/b~c d": The number 1 is not allowed because it is less than 3'],
  ],
  ["a value outside an enum", { city: "Oslo", unit: "K" }, ['"unit": The value must be one of ["C","F"]']],
  [
    "an additional field",
    { city: "Oslo", more: 1 },
    [': The property "more" is unknown, and additional properties are not allowed'],
  ],
  [
    "a value that matches no branch of anyOf",
    { city: "Oslo", either: 1 },
    [
      '"either": The value must match at least one schema in "anyOf"',
      '"either": The type "number" is not allowed. Expected type: "string"',
      '"either": The type "number" is not allowed. Expected type: "null"',
    ],
  ],
  [
    "two invalid fields",
    { city: 1, unit: 2 },
    ['"city": The type "number" is not allowed. Expected type: "string"', '"unit": The value must be one of ["C","F"]'],
  ],
];
it.for(misfits)("fromJsonSchema: reports the path and the problem of %s", ([, value, lines]) => {
  expect(linesOf(place, value)).toEqual(lines);
});

const keywords: readonly (readonly [string, JsonSchema, unknown, readonly string[]])[] = [
  [
    'the keyword "allOf"',
    { allOf: [{ required: ["a"] }, { required: ["b"] }] },
    { a: 1 },
    [': The required property "b" is missing'],
  ],
  ['the keyword "if"', { if: { required: ["b"] }, else: { required: ["a"] } }, {}, [': The required property "a" is missing']],
  ['the keyword "not"', { not: { required: ["a"] } }, { a: 1 }, [': The value must not match the schema in "not"']],
  [
    'the keyword "patternProperties"',
    { patternProperties: { "^n": { type: "number" } } },
    { n1: "x" },
    ['"n1": The type "string" is not allowed. Expected type: "number"'],
  ],
  [
    'the keyword "dependencies"',
    { $schema: "http://json-schema.org/draft-07/schema#", dependencies: { a: ["b"] } },
    { a: 1 },
    [': An object with the property "a" must also have the property "b"'],
  ],
  [
    'the keyword "dependencies" next to an invalid property',
    { dependencies: { a: ["b"] }, properties: { a: { type: "number" } } },
    { a: "x" },
    [
      ': An object with the property "a" must also have the property "b"',
      '"a": The type "string" is not allowed. Expected type: "number"',
    ],
  ],
  [
    'the keyword "propertyNames"',
    { propertyNames: { maxLength: 1 } },
    { ab: 1 },
    [
      ': The property name "ab" does not match the schema in "propertyNames"',
      '"ab": The string has 2 characters, but at most 1 are allowed',
    ],
  ],
  [
    'the keyword "uniqueItems"',
    { properties: { l: { uniqueItems: true } } },
    { l: [1, 1] },
    ['"l": The items at indexes 0 and 1 are equal, but all items must differ'],
  ],
  [
    'the keyword "prefixItems"',
    { properties: { l: { prefixItems: [{ type: "string" }] } } },
    { l: [1] },
    ['"l" 0: The type "number" is not allowed. Expected type: "string"'],
  ],
  ["a property whose schema is false", { properties: { a: false } }, { a: 1 }, [': The property "a" is not allowed']],
  [
    'the format "date"',
    { properties: { at: { format: "date" } } },
    { at: "soon" },
    ['"at": The string does not have the format "date"'],
  ],
  [
    'the format "url" as "uri"',
    { properties: { at: { format: "url" } } },
    { at: "no url" },
    ['"at": The string does not have the format "uri"'],
  ],
  [
    "the keywords next to a $ref",
    { $defs: { a: {} }, $ref: "#/$defs/a", required: ["b"] },
    {},
    [': The required property "b" is missing'],
  ],
];
it.for(keywords)("fromJsonSchema: checks %s", ([, schema, value, lines]) => {
  expect(linesOf(schema, value)).toEqual(lines);
});

it("fromJsonSchema: follows the draft that $schema names", () => {
  const schema = { definitions: { a: {} }, $ref: "#/definitions/a", required: ["b"] };
  expect(linesOf({ ...schema, $schema: "http://json-schema.org/draft-07/schema#" }, {})).toEqual([]);
  expect(linesOf({ ...schema, $schema: "https://json-schema.org/draft/2019-09/schema" }, {})).toHaveLength(1);
  const four = { $schema: "http://json-schema.org/draft-04/schema#", properties: { n: { minimum: 3, exclusiveMinimum: true } } };
  expect(linesOf(four, { n: 3 })).toHaveLength(1);
});

it("fromJsonSchema: recognizes draft 4 by its keywords if $schema is absent", () => {
  const below = { type: "object", properties: { n: { minimum: 3, exclusiveMinimum: true } } };
  const above = { type: "object", properties: { n: { maximum: 3, exclusiveMaximum: false } } };
  expect([linesOf(below, { n: 3 }).length, linesOf(below, { n: 4 })]).toEqual([1, []]);
  expect([linesOf(above, { n: 4 }).length, linesOf(above, { n: 3 })]).toEqual([1, []]);
  expect(linesOf({ properties: { n: { exclusiveMinimum: 3 } } }, { n: 3 })).toHaveLength(1);
  expect(linesOf({ ...below, $schema: "https://json-schema.org/draft/2020-12/schema" }, { n: 3 })).toEqual([]);
});

it("fromJsonSchema: leaves the schema unchanged and accepts a frozen schema", () => {
  const schema = { type: "object", properties: { at: { type: "string", format: "url" } } };
  const before = JSON.stringify(schema);
  expect(linesOf(schema, { at: 1 })).toHaveLength(1);
  expect(JSON.stringify(schema)).toBe(before);
  expect(Object.getOwnPropertyNames(schema)).toEqual(["type", "properties"]);
  expect(linesOf(Object.freeze({ type: "object" } as const), 1)).toHaveLength(1);
});

/** Nests schemas with an `$id`. Each level doubles the number of times that the validator reads the innermost schema. */
function nestIds(levels: number): JsonSchema {
  let schema: JsonSchema = {};
  for (let level = 0; level < levels; level++) schema = { $id: `https://example.com/${level}`, not: schema };
  return schema;
}

const bad: readonly (readonly [string, unknown, RegExp])[] = [
  ["undefined as the schema", undefined, /is undefined, but must be a supported JSON Schema/],
  ["an array as the schema", [], /is an array of 0 items, but must be/],
  [
    "a remote $ref",
    { properties: { a: { $ref: "https://example.com/s.json" } } },
    /a schema that has the "\$ref" "https:\/\/example\.com\/s\.json", which the schema does not define: add it, because nothing is fetched/,
  ],
  ["a dangling $ref", { $ref: "#/$defs/gone" }, /has the "\$ref" "#\/\$defs\/gone", which the schema does not define/],
  ["a remote $ref inside dependencies", { dependencies: { a: { items: [{ $ref: "other.json" }] } } }, /"other\.json"/],
  ['the keyword "$dynamicRef"', { $dynamicRef: "#node" }, /has a "\$dynamicRef", which is not supported: use "\$ref"/],
  ['the keyword "$recursiveRef"', { properties: { a: { $recursiveRef: "#" } } }, /has a "\$recursiveRef"/],
  [
    "an invalid pattern",
    { properties: { a: { pattern: "(" } } },
    /has the pattern "\(", which is not a valid regular expression/,
  ],
  ["an invalid pattern for property names", { patternProperties: { "[": {} } }, /has the pattern "\["/],
  ["a schema that contains a BigInt", { const: 1n }, /cannot be compiled: a BigInt/],
  ["an invalid $id", { $id: "http://[" }, /cannot be compiled/],
  ["more than 8 nested schemas with an $id", nestIds(24), /has more than 8 nested parts with a "\$id"/],
  ["an $id of more than 2,000 characters", { $id: `x:${"y".repeat(2_000)}` }, /has a "\$id" with more than 2000 characters/],
  [
    "many subschemas whose paths are very long",
    { properties: { ["y".repeat(300_000)]: { allOf: Array.from({ length: 1_000 }, () => ({})) } } },
    /it would take too long/,
  ],
];
it.for(bad)("fromJsonSchema: rejects %s", ([, schema, message]) => {
  let thrown: unknown;
  try {
    fromJsonSchema(schema as JsonSchema);
  } catch (error) {
    thrown = error;
  }
  expect(isLoopError(thrown, "invalid-option") && thrown.message).toMatch(message);
});

it.for<[string, JsonSchema]>([
  ["properties named pattern and $ref", { properties: { pattern: { type: "string" }, $ref: { type: "string" } } }],
  [
    "data that resembles a schema in const and default",
    { properties: { a: { const: { $ref: "x:y", pattern: "(" }, default: { $ref: "x:y" } } } },
  ],
  [
    "a $ref to an $id",
    { $defs: { a: { $id: "https://example.com/a", type: "string" } }, properties: { a: { $ref: "https://example.com/a" } } },
  ],
  ["a $ref to an $anchor", { $defs: { a: { $anchor: "here", type: "string" } }, properties: { a: { $ref: "#here" } } }],
  ["6 nested schemas with an $id", { properties: { a: nestIds(6) } }],
  ["a $ref to the root", { type: "object", properties: { child: { $ref: "#" } } }],
])("fromJsonSchema: accepts %s", ([, schema]) => {
  expect(linesOf(schema, {})).toEqual([]);
});

describe("fromJsonSchema: a tool's schema", () => {
  const tool = defineTool({
    name: "get",
    description: "Gets.",
    inputSchema: fromJsonSchema<{ city: string }>({ ...place, $schema: "https://json-schema.org/draft/2020-12/schema" }),
    execute: ({ city }) => city.toUpperCase(),
  });

  it("is shown to the model and validates the arguments", async () => {
    const provider = createMockProvider([[toolCall("get", { city: 7 }), toolCall("get", { city: "Oslo" })], text("Done.")]);
    const result = await runToolLoop({ provider, tools: [tool], messages: [{ role: "user", content: "Go." }] });
    expect(provider.requests[0]?.tools[0]?.inputSchema).toEqual(place);
    expect(answersOf(result).map(({ outcome, result: read }) => [outcome, read])).toEqual([
      [
        "invalid-input",
        { status: "invalid_input", reason: 'city: The type "number" is not allowed. Expected type: "string"', tool_name: "get" },
      ],
      ["completed", "OSLO"],
    ]);
  });

  it("does not mark valid arguments as unchecked", async () => {
    expect(createToolRegistry([tool]).validate("get", { city: "Oslo" })).toEqual({ value: { city: "Oslo" } });
    expect(await runTool(tool, {})).toMatchObject({ kind: "invalid-input" });
  });
});
