import { describe, expect, it } from "vitest";
import type { ToolTraits } from "../core/types/tool.ts";
import { type AnnotationRule, type McpToolAnnotations, mergeTraits, toTraits } from "./mcp-client.ts";

const reads = { idempotent: true, replay: "safe" } as const;
const repeats = { idempotent: true, replay: "safe", retry: { maxAttempts: 2 } } as const;
const asks = { needsApproval: true } as const;

describe("toTraits (MCP)", () => {
  it.for<[rule: AnnotationRule, does: string, annotations: McpToolAnnotations | undefined, traits: ToolTraits]>([
    ["stated", "gives no traits to a tool without annotations", undefined, {}],
    ["stated", "gives no traits to a tool with empty annotations", {}, {}],
    ["stated", "lets a read-only tool run again", { readOnlyHint: true }, reads],
    ["stated", "gives no traits for readOnlyHint: false", { readOnlyHint: false }, {}],
    ["stated", "lets an idempotent tool be retried", { idempotentHint: true }, repeats],
    ["stated", "gives no traits for idempotentHint: false", { idempotentHint: false }, {}],
    [
      "stated",
      "lets a read-only idempotent tool be retried",
      { readOnlyHint: true, idempotentHint: true, destructiveHint: false },
      { ...reads, ...repeats },
    ],
    ["stated", "requires approval for a destructive tool", { destructiveHint: true }, asks],
    [
      "stated",
      "requires approval for a destructive idempotent tool",
      { destructiveHint: true, idempotentHint: true },
      { ...asks, ...repeats },
    ],
    [
      "stated",
      "requires approval for a tool that is both destructive and read-only",
      { destructiveHint: true, readOnlyHint: true },
      { ...asks, idempotent: true, replay: "safe" },
    ],
    ["stated", "gives no traits for openWorldHint and title", { openWorldHint: true, title: "A" }, {}],
    ["assumed", "requires approval for a tool without annotations", undefined, asks],
    ["assumed", "requires approval for a tool with only idempotentHint: true", { idempotentHint: true }, { ...asks, ...repeats }],
    ["assumed", "gives no traits for destructiveHint: false", { destructiveHint: false }, {}],
    ["assumed", "requires approval for a destructive tool", { destructiveHint: true }, asks],
    ["assumed", "lets a read-only tool run again", { readOnlyHint: true }, reads],
    ["ignored", "gives no traits to a read-only idempotent tool", { readOnlyHint: true, idempotentHint: true }, {}],
    ["ignored", "gives no traits to a destructive tool", { destructiveHint: true }, {}],
  ])('with annotations: "%s", %s', ([rule, , annotations, traits]) => {
    expect(toTraits({ name: "a", inputSchema: {}, annotations }, rule)).toStrictEqual(traits);
  });
});

describe("mergeTraits (MCP)", () => {
  it.for<[does: string, traits: ToolTraits, own: ToolTraits | undefined, merged: ToolTraits]>([
    ["keeps the server's traits if the caller passes undefined", reads, undefined, reads],
    ["keeps the server's traits if the caller passes an empty object", reads, {}, reads],
    ["adds a trait that only the caller sets", reads, { timeoutMs: 5 }, { ...reads, timeoutMs: 5 }],
    ["ignores a trait that the caller sets to undefined", reads, { eager: undefined }, reads],
    ["lets the caller set eager: false", reads, { eager: false }, { ...reads, eager: false }],
    ["lets the caller set replay: never", reads, { replay: "never" }, { idempotent: true, replay: "never" }],
    ["lets the caller set needsApproval: false for a destructive tool", asks, { needsApproval: false }, { needsApproval: false }],
    [
      "drops the server's `retry` trait if the caller sets idempotent: false",
      repeats,
      { idempotent: false },
      { idempotent: false, replay: "safe" },
    ],
    [
      "lets the caller replace the server's `retry` trait",
      repeats,
      { retry: { maxAttempts: 5 } },
      { ...repeats, retry: { maxAttempts: 5 } },
    ],
    [
      "accepts the `retry` trait without `idempotent` from the caller, although creating a tool with these traits throws",
      {},
      { retry: { maxAttempts: 5 } },
      { retry: { maxAttempts: 5 } },
    ],
    [
      "accepts eager: true with needsApproval: true from the caller, although creating a tool with these traits throws",
      asks,
      { eager: true },
      { ...asks, eager: true },
    ],
  ])("%s", ([, traits, own, merged]) => {
    expect(mergeTraits(traits, own)).toStrictEqual(merged);
  });
});
