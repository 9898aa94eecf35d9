import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { JsonSchema } from "../../core/types/common.ts";
import { findRootProblem } from "../root-schema.ts";
import { toObjectSchema } from "./object-schema.ts";

const text = { type: "string" };
const number = { type: "number" };
const object = (properties: object, ...required: readonly string[]): JsonSchema =>
  ({ type: "object", properties, ...(required.length === 0 ? {} : { required }) }) as JsonSchema;

const lookup = z.object({ action: z.literal("lookup"), id: z.string() });
const find = z.object({ action: z.literal("search"), query: z.string(), limit: z.number().optional() });
const remove = z.object({ action: z.enum(["remove", "erase"]), id: z.number() });
const toJson = (schema: z.ZodType): JsonSchema => z.toJSONSchema(schema, { io: "input" }) as JsonSchema;
const $schema = "https://json-schema.org/draft/2020-12/schema";

const groups =
  'Use the properties of one of these groups: (1) action = "lookup", id; (2) action = "search", query, limit (optional).';

describe("toObjectSchema", () => {
  it.for<[what: string, schema: JsonSchema, made: object]>([
    ["an empty schema", {}, object({})],
    ["an object without properties", { type: "object" }, object({})],
    ["properties without a type", { properties: { a: text }, required: ["a"] }, object({ a: text }, "a")],
    ["an object or null", { type: ["object", "null"], properties: { a: text } }, object({ a: text })],
    ["a union of an object and null", { anyOf: [object({ a: text }, "a"), { type: "null" }] }, object({ a: text }, "a")],
    [
      "a reference",
      { $ref: "#/definitions/In", definitions: { In: { ...object({ q: text }, "q"), additionalProperties: false } } },
      {
        ...object({ q: text }, "q"),
        additionalProperties: false,
        definitions: { In: { ...object({ q: text }, "q"), additionalProperties: false } },
      },
    ],
    [
      "a recursive reference",
      { $ref: "#/$defs/tree", $defs: { tree: object({ child: { $ref: "#/$defs/tree" } }) } },
      { ...object({ child: { $ref: "#/$defs/tree" } }), $defs: { tree: object({ child: { $ref: "#/$defs/tree" } }) } },
    ],
    ["a reference to itself", { $ref: "#" }, object({})],
    [
      "a discriminated union",
      toJson(z.discriminatedUnion("action", [lookup, find])),
      {
        $schema,
        type: "object",
        description: groups,
        properties: { action: { type: "string", enum: ["lookup", "search"] }, id: text, query: text, limit: number },
        required: ["action"],
      },
    ],
    [
      "a union",
      toJson(z.union([lookup, find]).describe("Records.")),
      {
        $schema,
        type: "object",
        description: `Records.\n\n${groups}`,
        properties: { action: { type: "string", enum: ["lookup", "search"] }, id: text, query: text, limit: number },
        required: ["action"],
      },
    ],
    [
      "a union in a union, with lists and other types",
      toJson(z.union([z.union([lookup, find]), remove])),
      {
        $schema,
        type: "object",
        description: `${groups.slice(0, -1)}; (3) action, id.`,
        properties: {
          action: { type: "string", enum: ["lookup", "search", "remove", "erase"] },
          id: { anyOf: [text, number] },
          query: text,
          limit: number,
        },
        required: ["action"],
      },
    ],
    [
      "an intersection",
      toJson(z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() }))),
      {
        $schema,
        ...object({ a: text, b: text }, "a", "b"),
      },
    ],
    [
      "an intersection with a union",
      { allOf: [object({ a: text }, "a"), { oneOf: [object({ b: text }, "b"), object({ c: text })] }] },
      {
        ...object({ a: text, b: text, c: text }, "a"),
        description: "Use the properties of one of these groups: (1) b; (2) c (optional).",
      },
    ],
    [
      "an intersection of rules for one property",
      {
        allOf: [
          object({ a: { ...text, minLength: 1 } }),
          object({ a: { ...text, minLength: 2 } }),
          object({ b: text }),
          object({ b: { pattern: "x" } }),
        ],
      },
      object({
        a: {
          allOf: [
            { ...text, minLength: 1 },
            { ...text, minLength: 2 },
          ],
        },
        b: { ...text, pattern: "x" },
      }),
    ],
    [
      "groups of required properties",
      { ...object({ a: text, b: text }), anyOf: [{ required: ["a"] }, { required: ["b"] }] },
      {
        ...object({ a: text, b: text }),
        description: "Use the properties of one of these groups: (1) a; (2) b.",
      },
    ],
    [
      "closed branches",
      {
        anyOf: [
          { ...object({ a: text }), additionalProperties: false },
          { ...object({ a: text }), additionalProperties: false },
        ],
      },
      {
        ...object({ a: text }),
        additionalProperties: false,
      },
    ],
    ["a value that is excluded", { ...object({ a: text }), not: { required: ["a"] }, enum: [{}] }, object({ a: text })],
    [
      "a record",
      toJson(z.record(z.string(), z.number())),
      { $schema, type: "object", properties: {}, additionalProperties: number, propertyNames: text },
    ],
    [
      "true and false branches",
      { anyOf: [true, false, object({ a: text }, "a")] },
      {
        ...object({ a: text }),
        description: "Use the properties of one of these groups: (1) no properties; (2) a.",
      },
    ],
    [
      "a property named __proto__",
      JSON.parse('{"anyOf":[{"properties":{"__proto__":{"type":"string"}}},{"type":"null"}]}'),
      {
        type: "object",
        properties: JSON.parse('{"__proto__":{"type":"string"}}'),
      },
    ],
  ])("converts %s to an object schema", ([, schema, made]) => {
    expect(toObjectSchema(schema)).toEqual(made);
    expect(JSON.stringify(toObjectSchema(schema)).includes("__proto__")).toBe(JSON.stringify(schema).includes("__proto__"));
  });

  it("returns a plain object schema unchanged", () => {
    const schema = { ...object({ a: { anyOf: [text, number] } }), $defs: { x: text } };
    expect(toObjectSchema(schema)).toBe(schema);
  });

  it("reads a schema only once, even if the schema and its parts often refer to each other", () => {
    const twice = (name: string): object[] => [{ $ref: name }, { $ref: name }];
    const $defs = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`d${n}`, { anyOf: twice(`#/$defs/d${n + 1}`) }]));
    const schema = { allOf: twice("#/$defs/d0"), anyOf: twice("#"), $defs: { ...$defs, d60: object({ a: text }) } };
    expect(findRootProblem(schema as JsonSchema)).toBe("");
    expect(toObjectSchema(schema as JsonSchema)).toMatchObject(object({ a: text }));
  });

  it("shortens the description of many branches", () => {
    const branches = Array.from({ length: 500 }, (_, n) => object({ [`property_${n}`]: text }));
    expect(JSON.stringify(toObjectSchema({ anyOf: branches })["description"]).length).toBeLessThan(4_100);
  });
});
