import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../types/common.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { findToolChanges, isBreaking, isSameTool, toShown } from "./compare-tools.ts";

const toolOf = (inputSchema: unknown, more: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name: "t",
  description: "d",
  inputSchema: inputSchema as JsonSchema,
  ...more,
});
const object = (properties: object, ...required: readonly string[]): object => ({ type: "object", properties, required });
/** Each change as `kind field was now`, without missing parts. */
const changesOf = (was: unknown, now: unknown): readonly string[] =>
  findToolChanges("t", toShown(toolOf(was)), toShown(toolOf(now))).map(({ kind, field, was: before, now: after }) =>
    [kind, field, before, after].filter((word) => word !== undefined).join(" | "),
  );

describe("a schema breaks calls where it", () => {
  it.for<[what: string, was: unknown, now: unknown, change: string]>([
    ["requires a new field", object({}), object({ to: {} }, "to"), "required-field-added | to"],
    ["requires a known field", object({ to: {} }), object({ to: {} }, "to"), "required-field-added | to"],
    ["requires a field inside", object({ a: object({}) }), object({ a: object({ b: {} }, "b") }), "required-field-added | a.b"],
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
    ["gives a type", object({ n: {} }), object({ n: { type: "number" } }), "type-changed | n | any | number"],
    ["takes whole numbers only", { type: "number" }, { type: "integer" }, "type-changed | number | integer"],
    ["changes items", { items: { type: "string" } }, { items: { type: "number" } }, "type-changed | [] | string | number"],
    ["takes fewer values", { enum: ["a", "b"] }, { enum: ["a"] }, 'constraint-changed | enum ["a","b"] | enum ["a"]'],
    ["takes one value", {}, { const: 1 }, "constraint-changed | enum [1]"],
    ["has a lower limit", { maxLength: 9 }, { maxLength: 8 }, "constraint-changed | maxLength 9 | maxLength 8"],
    ["has a first limit", {}, { minimum: 1 }, "constraint-changed | minimum 1"],
    ["has another pattern", { pattern: "a" }, { pattern: "b" }, "constraint-changed | pattern a | pattern b"],
    [
      "takes no more fields",
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
      "changes what it refers to",
      { $defs: { a: { type: "string" } } },
      { $defs: { a: { type: "number" } } },
      "type-changed | $defs.a | string | number",
    ],
    ["accepts nothing", true, false, "constraint-changed | true | false"],
  ])("%s", ([, was, now, change]) => {
    expect(changesOf(was, now)).toEqual([change]);
    expect(findToolChanges("t", toShown(toolOf(was)), toShown(toolOf(now))).every(isBreaking)).toBe(true);
  });
});

describe("a schema breaks no calls where it", () => {
  it.for<[what: string, was: unknown, now: unknown]>([
    ["has an optional field more", object({}), object({ to: { type: "string", description: "new" } })],
    ["requires less", object({ to: {} }, "to"), object({ to: {} })],
    ["takes more types", { type: "integer" }, { type: ["number", "string"] }],
    ["takes any type", { type: "integer" }, {}],
    ["takes more values", { enum: ["a"] }, { enum: ["b", "a"] }],
    ["has a higher limit", { maxLength: 8, minimum: 2 }, { maxLength: 9, minimum: 1 }],
    ["has no limit", { pattern: "a" }, {}],
    ["has a branch more", { anyOf: [{ type: "string" }] }, { anyOf: [{ type: "null" }, { type: "string" }] }],
    ["has an optional field more in a branch", { oneOf: [object({})] }, { oneOf: [object({ a: {} })] }],
    ["has other words that say nothing", { examples: [1], $comment: "a" }, { examples: [2], "x-order": 1 }],
    ["names its fields in another order", object({ a: {}, b: {} }, "a", "b"), object({ b: {}, a: {} }, "b", "a")],
  ])("%s", ([, was, now]) => {
    expect(changesOf(was, now)).toEqual([]);
  });

  it("has other texts, which is told", () => {
    expect(changesOf(object({ a: { description: "x", default: 1 } }), object({ a: { title: "A", default: 2 } }))).toEqual([
      "description-changed | a | A",
      "description-changed | a | x",
      "default-changed | a | 1 | 2",
    ]);
  });
});

it("takes a tool that is gone, and one with other traits, for a change", () => {
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

it("compares a schema of any depth and width in time that grows with its size", () => {
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
