import { expect, it } from "vitest";
import { z } from "zod";
import type { JsonSchema, StandardSchema } from "../../core/types/common.ts";
import { convertSchema } from "../argument-schema.ts";
import { createOutputPlanner } from "./output-schema.ts";

const plan = createOutputPlanner({ maxOptional: 1, maxUnions: 2, maxDepth: 3 });

function convert(schema: JsonSchema): JsonSchema | undefined {
  const request = { messages: [], tools: [], iteration: 0, system: "Be brief.", output: { schema, instructions: "As JSON." } };
  const { system, schema: made } = plan(request, true);
  expect(system).toBe(made === undefined ? "Be brief.\n\nAs JSON." : "Be brief.");
  return made;
}

const jsonOf = (schema: StandardSchema): JsonSchema => {
  const converted = convertSchema(schema);
  if ("problem" in converted) throw new Error(converted.problem);
  return converted.json;
};

const closed = { additionalProperties: false } as const;
const object = (properties: JsonSchema, more: JsonSchema = {}): JsonSchema => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  ...more,
});
const text = { type: "string" } as const;

it.for<readonly [title: string, schema: JsonSchema, property: JsonSchema]>([
  ["a string with a description", { ...text, description: "A city." }, { ...text, description: "A city." }],
  [
    "a string with constraints",
    { ...text, description: "A city.", minLength: 2, pattern: "^O" },
    { ...text, description: 'A city.\n\nConstraints: {"minLength":2,"pattern":"^O"}' },
  ],
  ["a string with a format and a pattern", jsonOf(z.email()), { ...text, description: 'Constraints: {"format":"email"}' }],
  ["a safe integer", jsonOf(z.int()), { type: "integer" }],
  ["a constant", { const: "a" }, { ...text, enum: ["a"] }],
  ["a list of allowed numbers", { type: "integer", enum: [1, 2] }, { type: "integer", enum: [1, 2] }],
  ["a value that can only be true", jsonOf(z.literal(true)), { type: "boolean", description: 'Constraints: {"const":true}' }],
  ["a union", { oneOf: [text, { type: "null" }] }, { anyOf: [text, { type: "null" }] }],
  [
    "a value of several types",
    { type: ["number", "null"], minimum: 0 },
    { anyOf: [{ type: "number" }, { type: "null" }], description: 'Constraints: {"minimum":0}' },
  ],
  [
    "an array",
    { type: "array", items: text, maxItems: 2 },
    { type: "array", items: text, description: 'Constraints: {"maxItems":2}' },
  ],
  ["an object", object({ b: text }), { ...object({ b: text }), ...closed }],
  ["a string with unknown keywords", { ...text, title: "T", "x-own": 1, $comment: "?" }, text],
])("createOutputPlanner: converts the JSON Schema of %s", ([, schema, property]) => {
  expect(convert(object({ a: schema }))).toEqual({ ...object({ a: property }), ...closed });
});

it("createOutputPlanner: replaces a reference, but keeps the description next to the reference", () => {
  const schema = object(
    { a: { $ref: "#/$defs/a~1b", description: "First." }, b: { $ref: "#/$defs/a~1b" } },
    { $defs: { "a/b": object({ c: text }) } },
  );
  const inner = { ...object({ c: text }), ...closed };
  expect(convert(schema)).toEqual({ ...object({ a: { ...inner, description: "First." }, b: inner }), ...closed });
});

it("createOutputPlanner: treats prototype keys as data", () => {
  const properties: JsonSchema = JSON.parse('{ "__proto__": { "type": "string" }, "constructor": { "type": "null" } }');
  const made = convert({ type: "object", properties, required: ["__proto__", "constructor"] });
  expect(JSON.stringify(made?.["properties"])).toBe('{"__proto__":{"type":"string"},"constructor":{"type":"null"}}');
  expect(convert(object({ a: { $ref: "#/constructor" } }))).toBeUndefined();
});

const nested = (depth: number): JsonSchema => (depth === 0 ? text : object({ a: nested(depth - 1) }));
interface Tree {
  readonly children: readonly Tree[];
}
const tree: StandardSchema = z.object({
  get children(): z.ZodType<readonly Tree[]> {
    return z.array(tree as z.ZodType<Tree>);
  },
});

it.for<readonly [title: string, schema: JsonSchema]>([
  ["an array at the top level", { type: "array", items: text }],
  ["a union at the top level", { anyOf: [object({ a: text }), object({ b: text })] }],
  ["an object with any keys", object({}, { additionalProperties: text })],
  ["an object that allows additional keys", object({ a: text }, { additionalProperties: true })],
  ["an object without properties", { type: "object" }],
  ["a schema that requires a property without describing it", { type: "object", properties: { a: text }, required: ["a", "b"] }],
  ["a property with any value", object({ a: {} })],
  ["a list whose items can be any values", object({ a: { type: "array" } })],
  ["a tuple", jsonOf(z.object({ a: z.tuple([z.string()]) }))],
  ["an intersection", object({ a: { allOf: [object({ b: text })] } })],
  ["values of different types", object({ a: { enum: ["a", 1] } })],
  ["an object as a constant", object({ a: { const: { b: 1 } } })],
  ["a reference to itself", jsonOf(tree)],
  ["a reference to another document", object({ a: { $ref: "https://example.com/a.json" } })],
  ["a reference with constraints", object({ a: { $ref: "#/$defs/a", minLength: 1 } }, { $defs: { a: text } })],
  ["a schema with too many optional properties", { type: "object", properties: { a: text, b: text } }],
  ["a schema with too many unions", object({ a: { type: ["string", "null"] }, b: { anyOf: [text] }, c: { anyOf: [text] } })],
  ["a schema with too many levels", nested(4)],
  ["a schema with thousands of levels", nested(5_000)],
  ["a schema with too many values", object({ a: { enum: Array.from({ length: 251 }, (_, index) => `${index}`) } })],
  [
    "a schema with too many properties",
    object(Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`p${index}`, text]))),
  ],
  ["a schema with long strings", object({ a: { ...text, description: "x".repeat(15_000) } })],
])("createOutputPlanner: sends instructions instead of a JSON Schema for %s", ([, schema]) => {
  expect(convert(schema)).toBeUndefined();
});

it("createOutputPlanner: converts a schema with the maximum number of levels, optional properties and unions", () => {
  const schema = object({ b: { type: ["string", "null"] }, c: { anyOf: [text] }, d: nested(2) });
  const properties = { a: text, ...(schema["properties"] as JsonSchema) };
  expect(convert({ ...schema, properties })).toMatchObject({ required: ["b", "c", "d"] });
});

it("createOutputPlanner: replaces a blank system text only in a request with a schema", () => {
  const request = { messages: [], tools: [], iteration: 0, system: " " };
  expect(plan(request, true)).toEqual({ system: " ", schema: undefined });
  const output = { schema: text, instructions: "As JSON." };
  expect(plan({ ...request, output }, true)).toEqual({ system: "As JSON.", schema: undefined });
});
