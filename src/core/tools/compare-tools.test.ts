import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../types/common.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { findToolChanges, isBreaking, isSameTool, toShown } from "./registry.ts";

const toolOf = (inputSchema: unknown, more: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name: "t",
  description: "d",
  inputSchema: inputSchema as JsonSchema,
  ...more,
});
const object = (properties: object, ...required: readonly string[]): object => ({ type: "object", properties, required });
const changesOf = (was: unknown, now: unknown): readonly string[] =>
  findToolChanges("t", toShown(toolOf(was)), toShown(toolOf(now))).map(({ kind, field, was: before, now: after }) =>
    [kind, field, before, after].filter((word) => word !== undefined).join(" | "),
  );

describe("findToolChanges with breaking changes", () => {
  it.for<[what: string, was: unknown, now: unknown, change: string]>([
    ["requires a new field", object({}), object({ to: {} }, "to"), "required-field-added | to"],
    ["requires a field that was optional", object({ to: {} }), object({ to: {} }, "to"), "required-field-added | to"],
    ["requires a nested field", object({ a: object({}) }), object({ a: object({ b: {} }, "b") }), "required-field-added | a.b"],
    ["drops a field", object({ to: {} }), object({}), "field-removed | to"],
    [
      "changes a type",
      object({ n: { type: "number" } }),
      object({ n: { type: "string" } }),
      "type-changed | n | number | string",
    ],
    [
      "narrows a type",
      object({ n: { type: ["number", "null"] } }),
      object({ n: { type: "number" } }),
      "type-changed | n | number or null | number",
    ],
    [
      "restricts a field of any type to one type",
      object({ n: {} }),
      object({ n: { type: "number" } }),
      "type-changed | n | any | number",
    ],
    ["accepts only whole numbers", { type: "number" }, { type: "integer" }, "type-changed | number | integer"],
    [
      "changes the type of items",
      { items: { type: "string" } },
      { items: { type: "number" } },
      "type-changed | [] | string | number",
    ],
    ["accepts fewer values", { enum: ["a", "b"] }, { enum: ["a"] }, 'constraint-changed | enum ["a","b"] | enum ["a"]'],
    ["accepts only one value", {}, { const: 1 }, "constraint-changed | enum [1]"],
    ["lowers a limit", { maxLength: 9 }, { maxLength: 8 }, "constraint-changed | maxLength 9 | maxLength 8"],
    ["adds a limit", {}, { minimum: 1 }, "constraint-changed | minimum 1"],
    ["changes a pattern", { pattern: "a" }, { pattern: "b" }, "constraint-changed | pattern a | pattern b"],
    [
      "accepts no additional fields",
      { type: "object" },
      { type: "object", additionalProperties: false },
      "constraint-changed | * | true | false",
    ],
    [
      "drops a branch",
      { anyOf: [{ type: "string" }, { type: "null" }] },
      { anyOf: [{ type: "string" }] },
      'constraint-changed | anyOf [{"type":"string"},{"type":"null"}] | anyOf [{"type":"string"}]',
    ],
    [
      "changes a definition",
      { $defs: { a: { type: "string" } } },
      { $defs: { a: { type: "number" } } },
      "type-changed | $defs.a | string | number",
    ],
    ["accepts nothing", true, false, "constraint-changed | true | false"],
  ])("reports a schema that %s", ([, was, now, change]) => {
    expect(changesOf(was, now)).toEqual([change]);
    expect(findToolChanges("t", toShown(toolOf(was)), toShown(toolOf(now))).every(isBreaking)).toBe(true);
  });
});

describe("findToolChanges with compatible changes", () => {
  it.for<[what: string, was: unknown, now: unknown]>([
    ["adds an optional field", object({}), object({ to: { type: "string", description: "new" } })],
    ["requires fewer fields", object({ to: {} }, "to"), object({ to: {} })],
    ["accepts more types", { type: "integer" }, { type: ["number", "string"] }],
    ["accepts any type", { type: "integer" }, {}],
    ["accepts more values", { enum: ["a"] }, { enum: ["b", "a"] }],
    ["loosens its limits", { maxLength: 8, minimum: 2 }, { maxLength: 9, minimum: 1 }],
    ["removes a pattern", { pattern: "a" }, {}],
    ["adds a branch", { anyOf: [{ type: "string" }] }, { anyOf: [{ type: "null" }, { type: "string" }] }],
    ["adds an optional field in a branch", { oneOf: [object({})] }, { oneOf: [object({ a: {} })] }],
    ["changes only keywords that do not affect validation", { examples: [1], $comment: "a" }, { examples: [2], "x-order": 1 }],
    ["changes the order of its fields", object({ a: {}, b: {} }, "a", "b"), object({ b: {}, a: {} }, "b", "a")],
  ])("reports nothing for a schema that %s", ([, was, now]) => {
    expect(changesOf(was, now)).toEqual([]);
  });

  it("reports changed descriptions, titles and defaults", () => {
    expect(changesOf(object({ a: { description: "x", default: 1 } }), object({ a: { title: "A", default: 2 } }))).toEqual([
      "description-changed | a | A",
      "description-changed | a | x",
      "default-changed | a | 1 | 2",
    ]);
  });
});

it("findToolChanges: reports a removed tool, and a change of needsApproval or idempotent", () => {
  const shown = (more: Partial<ToolDefinition>): ReturnType<typeof toShown> => toShown(toolOf({}, more));
  const kinds = (was: Partial<ToolDefinition>, now: Partial<ToolDefinition>): readonly string[] =>
    findToolChanges("t", shown(was), shown(now)).map(({ kind, field = "" }) => `${kind} ${field}`);
  expect(findToolChanges("t", shown({}), undefined)).toEqual([{ toolName: "t", kind: "removed" }]);
  expect(kinds({}, { needsApproval: true })).toEqual(["trait-changed needsApproval"]);
  expect(kinds({ needsApproval: () => true }, { needsApproval: true })).toEqual(["trait-changed needsApproval"]);
  expect(kinds({ idempotent: true }, {})).toEqual(["trait-changed idempotent"]);
  expect(kinds({ needsApproval: true }, { idempotent: true, timeoutMs: 1, sequential: true })).toEqual([]);
  expect(isSameTool(toolOf({ a: 1, b: 2 }), toolOf({ b: 2, a: 1 }, { timeoutMs: 3 }))).toBe(true);
});

it("findToolChanges: compares schemas with 400 levels or 5,000 fields", () => {
  const nest = (depth: number, leaf: object): object => {
    let schema = leaf;
    for (let level = 0; level < depth; level += 1) schema = { anyOf: [schema, { type: "null" }] };
    return schema;
  };
  expect(changesOf(nest(400, { type: "string" }), nest(400, { type: "number" }))).toHaveLength(1);
  const wide = (type: string): object =>
    object(Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`f${index}`, { type }])));
  expect(changesOf(wide("string"), wide("number"))).toHaveLength(5_000);
});
