import * as mini from "zod/mini";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import type { StandardSchema, ToolSchema } from "../types/common.ts";
import { isLoopError } from "../../shared/errors/loop-error.ts";
import { isStandardSchema, toJsonSchema } from "../../shared/argument-schema.ts";

function schemaOf(input: () => Record<string, unknown>): StandardSchema {
  return { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }), jsonSchema: { input } } };
}

function problemOf(schema: ToolSchema): string {
  try {
    toJsonSchema(schema, "search");
    return "none";
  } catch (error) {
    if (isLoopError(error, "invalid-schema") && error.details.toolName === "search") return error.details.problem;
    throw error;
  }
}

const remedy = 'Give the tool a "jsonSchema" to show to the model';

describe("toJsonSchema", () => {
  it("converts the input type of a zod schema, without $schema", () => {
    const schema = z.object({
      city: z.string().describe("Name of a city"),
      days: z.number().int().min(1).max(7).default(3),
      tags: z.array(z.enum(["a", "b"])).optional(),
      when: z.string().transform((text) => new Date(text)),
    });
    expect(toJsonSchema(schema, "weather")).toEqual({
      type: "object",
      properties: {
        city: { type: "string", description: "Name of a city" },
        days: { type: "integer", minimum: 1, maximum: 7, default: 3 },
        tags: { type: "array", items: { type: "string", enum: ["a", "b"] } },
        when: { type: "string" },
      },
      required: ["city", "when"],
    });
  });

  it("converts a union of objects and a recursive schema", () => {
    const tree = z.object({
      name: z.string(),
      get children() {
        return z.array(tree);
      },
    });
    expect(toJsonSchema(tree, "tree")).toMatchObject({ properties: { children: { items: { $ref: "#" } } } });
    expect(toJsonSchema(z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), "either")).toHaveProperty("anyOf");
  });

  it("converts each schema once, for draft 2020-12", () => {
    const input = vi.fn(() => ({ type: "object" }));
    const schema = schemaOf(input);
    const first = toJsonSchema(schema, "search");
    expect(toJsonSchema(schema, "other")).toBe(first);
    expect(input.mock.calls).toEqual([[{ target: "draft-2020-12" }]]);
  });

  it.for<[schema: ToolSchema]>([
    [{ type: "object", properties: { q: { type: "string" } }, $schema: "http://json-schema.org/draft-07/schema#" }],
    [{}],
    [Object.assign(Object.create(null), { type: "object" })],
  ])("returns the plain JSON Schema $0 unchanged", ([schema]) => {
    expect(toJsonSchema(schema, "search")).toBe(schema);
  });

  it("converts a schema that is a function", () => {
    const schema: ToolSchema = Object.assign(
      () => true,
      schemaOf(() => ({ type: "object" })),
    );
    expect(toJsonSchema(schema, "search")).toEqual({ type: "object" });
  });

  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  it.for<[what: string, schema: unknown, problem: string]>([
    [
      "a zod/mini schema",
      mini.object({ a: mini.string() }),
      `cannot be converted to JSON Schema, because zod/mini and zod before 4.2 have no conversion; use z.toJSONSchema(schema, { io: "input" }). ${remedy}`,
    ],
    [
      "a zod schema with a date",
      z.object({ at: z.date() }),
      `cannot be converted to JSON Schema: Date cannot be represented in JSON Schema. ${remedy}`,
    ],
    [
      "a zod schema with a bigint",
      z.object({ a: z.bigint() }),
      `cannot be converted to JSON Schema: BigInt cannot be represented in JSON Schema. ${remedy}`,
    ],
    [
      "a schema that converts to a cyclic value",
      schemaOf(() => cyclic),
      `cannot be converted to JSON Schema: a cyclic value, or more than 1,000 levels. ${remedy}`,
    ],
    ["a schema that converts to null", schemaOf(() => JSON.parse("null")), `cannot be converted to JSON Schema: null. ${remedy}`],
    ["a zod schema for a string", z.string(), 'must have the type "object", but has "string"'],
    ["a JSON Schema for a string", { type: "string" }, 'must have the type "object", but has "string"'],
    ["a JSON Schema with two other types", { type: ["string", "null"] }, 'must have the type "object", but has "string", "null"'],
    [
      "a union without an object",
      { anyOf: [{ type: "null" }, { type: "string" }] },
      'must have the type "object", but has "null"',
    ],
    ["an intersection with a string", { allOf: [{}, { type: "string" }] }, 'must have the type "object", but has "string"'],
    [
      "a reference to a string",
      { $ref: "#/$defs/a", $defs: { a: { type: "string" } } },
      'must have the type "object", but has "string"',
    ],
    ["a dangling reference", { $ref: "#/$defs/a" }, 'refers to "#/$defs/a", which it does not contain'],
    ["a list of values", { enum: ["a", 1] }, "must accept objects, but accepts only other values"],
    ["a constant", { const: null }, "must accept objects, but accepts only other values"],
    ["a class instance as the schema", new Map(), "is neither a Standard Schema nor a plain JSON Schema object"],
    ["a cyclic JSON Schema", cyclic, "is not JSON: a cyclic value, or more than 1,000 levels"],
  ])("rejects %s", ([, schema, problem]) => {
    expect(problemOf(schema as ToolSchema)).toBe(problem);
  });

  it("keeps the error of the conversion as the cause", () => {
    expect(() => toJsonSchema(z.object({ at: z.date() }), "search")).toThrow(
      expect.objectContaining({
        code: "invalid-schema",
        cause: expect.objectContaining({ message: "Date cannot be represented in JSON Schema" }),
      }),
    );
  });
});

describe("isStandardSchema", () => {
  it.for<[what: string, schema: ToolSchema, standard: boolean]>([
    ["a zod schema", z.object({}), true],
    ["a zod/mini schema", mini.object({}), true],
    ["a JSON Schema", { type: "object" }, false],
    ["an object whose ~standard is empty", { "~standard": {} }, false],
    ["an object whose ~standard is null", { "~standard": null }, false],
  ])("returns $2 for %s", ([, schema, standard]) => {
    expect(isStandardSchema(schema)).toBe(standard);
  });
});
