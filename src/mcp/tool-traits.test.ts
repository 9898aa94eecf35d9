import { describe, expect, it } from "vitest";
import type { ToolTraits } from "../core/entry-kit.ts";
import type { McpToolAnnotations } from "./mcp-client.ts";
import { type AnnotationRule, mergeTraits, toTraits } from "./mcp-options.ts";

const reads = { eager: true, idempotent: true, replay: "safe" } as const;
const repeats = { idempotent: true, replay: "safe", retry: { maxAttempts: 2 } } as const;
const asks = { needsApproval: true } as const;

describe("toTraits", () => {
  it.for<[rule: AnnotationRule, annotations: McpToolAnnotations | undefined, traits: ToolTraits]>([
    ["stated", undefined, {}],
    ["stated", {}, {}],
    ["stated", { readOnlyHint: true }, reads],
    ["stated", { readOnlyHint: false }, {}],
    ["stated", { idempotentHint: true }, repeats],
    ["stated", { idempotentHint: false }, {}],
    ["stated", { readOnlyHint: true, idempotentHint: true, destructiveHint: false }, { ...reads, ...repeats }],
    ["stated", { destructiveHint: true }, asks],
    ["stated", { destructiveHint: true, idempotentHint: true }, { ...asks, ...repeats }],
    ["stated", { destructiveHint: true, readOnlyHint: true }, { ...asks, idempotent: true, replay: "safe" }],
    ["stated", { openWorldHint: true, title: "A" }, {}],
    ["assumed", undefined, asks],
    ["assumed", { idempotentHint: true }, { ...asks, ...repeats }],
    ["assumed", { destructiveHint: false }, {}],
    ["assumed", { destructiveHint: true }, asks],
    ["assumed", { readOnlyHint: true }, reads],
    ["ignored", { readOnlyHint: true, idempotentHint: true }, {}],
    ["ignored", { destructiveHint: true }, {}],
  ])("with the rule %s converts %j to %j", ([rule, annotations, traits]) => {
    expect(toTraits({ name: "a", inputSchema: {}, annotations }, rule)).toStrictEqual(traits);
  });
});

describe("mergeTraits", () => {
  it.for<[traits: ToolTraits, own: ToolTraits | undefined, merged: ToolTraits]>([
    [reads, undefined, reads],
    [reads, {}, reads],
    [reads, { timeoutMs: 5 }, { ...reads, timeoutMs: 5 }],
    [reads, { eager: undefined }, reads],
    [reads, { eager: false }, { ...reads, eager: false }],
    [reads, { needsApproval: true }, { ...asks, idempotent: true, replay: "safe" }],
    [reads, { needsApproval: false }, { ...reads, needsApproval: false }],
    [reads, { sequential: true }, { sequential: true, idempotent: true, replay: "safe" }],
    [reads, { replay: "never" }, { idempotent: true, replay: "never" }],
    [asks, { needsApproval: false }, { needsApproval: false }],
    [repeats, { idempotent: false }, { idempotent: false, replay: "safe" }],
    [repeats, { retry: { maxAttempts: 5 } }, { ...repeats, retry: { maxAttempts: 5 } }],
    // `mergeTraits` returns invalid combinations, which are rejected when the tool is created.
    [{}, { retry: { maxAttempts: 5 } }, { retry: { maxAttempts: 5 } }],
    [asks, { eager: true }, { ...asks, eager: true }],
  ])("merges %j and %o into %j", ([traits, own, merged]) => {
    expect(mergeTraits(traits, own)).toStrictEqual(merged);
  });
});
