import { defineTool, type JsonSchema, runToolLoop } from "turnwright";
import { expect, describe, it, onTestFinished } from "vitest";
import { adapters } from "./adapters.ts";
import type { Scripted } from "./all-wires.ts";

const number = { type: "number" };
const text = { type: "string" };
const done: Scripted = { text: "Done.", end: "stop" };
const messages = [{ role: "user", content: "Hi" }] as const;

const kinds: readonly (readonly [what: string, given: JsonSchema, sent: object])[] = [
  ["an exclusive minimum", { ...number, minimum: 0, exclusiveMinimum: true }, { ...number, exclusiveMinimum: 0 }],
  ["an exclusive maximum", { ...number, maximum: 9, exclusiveMaximum: true }, { ...number, exclusiveMaximum: 9 }],
  ["an inclusive minimum", { ...number, minimum: 0, exclusiveMinimum: false }, { ...number, minimum: 0 }],
  ["an exclusive minimum without a number", { ...number, exclusiveMinimum: true }, number],
  ["a 2020-12 bound", { ...number, exclusiveMinimum: 0, minimum: 1 }, { ...number, exclusiveMinimum: 0, minimum: 1 }],
  [
    "a bound in a union in a list",
    { type: "array", items: { anyOf: [{ ...number, maximum: 9, exclusiveMaximum: true }, text] } },
    { type: "array", items: { anyOf: [{ ...number, exclusiveMaximum: 9 }, text] } },
  ],
  ["a tuple", { type: "array", items: [text, number] }, { type: "array", prefixItems: [text, number] }],
  ["an empty tuple", { type: "array", items: [], additionalItems: text }, { type: "array", items: text }],
  ["a closed tuple", { items: [text], additionalItems: false }, { prefixItems: [text], items: false }],
  [
    "references into a tuple",
    { items: [text, { $ref: "#/properties/value/items/0" }], additionalItems: { $ref: "#/properties/value/items/1" } },
    { prefixItems: [text, { $ref: "#/properties/value/prefixItems/0" }], items: { $ref: "#/properties/value/prefixItems/1" } },
  ],
  [
    "a reference to the other items of a tuple",
    { items: [{ $ref: "#/properties/value/additionalItems" }], additionalItems: text },
    { prefixItems: [{ $ref: "#/properties/value/items" }], items: text },
  ],
  ["an empty list of properties", { type: "object", properties: [], required: [] }, { type: "object", properties: {} }],
  [
    "an object of required names",
    { type: "object", properties: { a: text }, required: {} },
    { type: "object", properties: { a: text } },
  ],
  [
    "a list of required names among the properties",
    { type: "object", properties: { a: text, b: text, required: ["a"] }, required: ["b"] },
    { type: "object", properties: { a: text, b: text }, required: ["b", "a"] },
  ],
  [
    "keywords that are null",
    { type: "object", properties: { a: { ...text, enum: null, default: null } }, required: null, additionalProperties: null },
    { type: "object", properties: { a: { ...text, default: null } } },
  ],
  [
    "types of programming languages",
    { type: "OBJECT", properties: { a: { type: "int" }, b: { type: "list", items: { type: "str" } }, c: { type: "any" } } },
    { type: "object", properties: { a: { type: "integer" }, b: { type: "array", items: text }, c: {} } },
  ],
  [
    "properties named like keywords",
    { type: "object", properties: { items: { ...number, default: 1 }, exclusiveMinimum: { type: "boolean" } } },
    { type: "object", properties: { items: { ...number, default: 1 }, exclusiveMinimum: { type: "boolean" } } },
  ],
  [
    "values that look like schemas",
    { const: { items: [1], properties: [] }, default: { exclusiveMinimum: true, required: {} } },
    { const: { items: [1], properties: [] }, default: { exclusiveMinimum: true, required: {} } },
  ],
];

/** Finds the schema of the property `value`. */
function findSchema(body: unknown): unknown {
  if (typeof body !== "object" || body === null) return undefined;
  if ("properties" in body) return Reflect.get(Object(body.properties), "value");
  return Object.values(body)
    .map(findSchema)
    .find((found) => found !== undefined);
}

describe.for(adapters)("$name $variant: tool schemas in older drafts", (adapter) => {
  it.for(kinds)("are sent as JSON Schema 2020-12 if they contain %s", async ([, given, sent]) => {
    const { provider, bodies, close } = await adapter.open([done]);
    onTestFinished(close);
    const inputSchema: JsonSchema = {
      $schema: "http://json-schema.org/draft-04/schema#",
      type: "object",
      properties: { value: given },
    };
    const tool = defineTool({ name: "save", description: "Saves", inputSchema, execute: () => "ok" });
    const { error } = await runToolLoop({ provider, tools: [tool], messages });
    expect(error).toBeUndefined();
    expect(findSchema(bodies[0])).toEqual(sent);
    expect(JSON.stringify(bodies[0]).includes("draft-04")).toBe(JSON.stringify(sent) === JSON.stringify(given));
  });
});
