import { describe, expect, it } from "vitest";
import type { ToolTraits } from "../core/entry-kit.ts";
import type { McpToolAnnotations } from "./mcp-client.ts";
import { type AnnotationRule, mergeTraits, toTraits } from "./mcp-options.ts";

const reads = { eager: true, idempotent: true, replay: "safe" } as const;
const repeats = { idempotent: true, replay: "safe", retry: { maxAttempts: 2 } } as const;
const asks = { needsApproval: true } as const;

describe("toTraits (MCP)", () => {
  it.for<[does: string, rule: AnnotationRule, annotations: McpToolAnnotations | undefined, traits: ToolTraits]>([
    ["gives no traits to a tool without annotations", "stated", undefined, {}],
    ["gives no traits to a tool with empty annotations", "stated", {}, {}],
    ["makes a read-only tool eager and idempotent", "stated", { readOnlyHint: true }, reads],
    ["gives no traits for readOnlyHint: false", "stated", { readOnlyHint: false }, {}],
    ["lets an idempotent tool be retried", "stated", { idempotentHint: true }, repeats],
    ["gives no traits for idempotentHint: false", "stated", { idempotentHint: false }, {}],
    [
      "makes a read-only idempotent tool eager and lets it be retried",
      "stated",
      { readOnlyHint: true, idempotentHint: true, destructiveHint: false },
      { ...reads, ...repeats },
    ],
    ["requires approval for a destructive tool", "stated", { destructiveHint: true }, asks],
    [
      "requires approval for a destructive idempotent tool",
      "stated",
      { destructiveHint: true, idempotentHint: true },
      { ...asks, ...repeats },
    ],
    [
      "requires approval for a tool that is both destructive and read-only",
      "stated",
      { destructiveHint: true, readOnlyHint: true },
      { ...asks, idempotent: true, replay: "safe" },
    ],
    ["gives no traits for openWorldHint and title", "stated", { openWorldHint: true, title: "A" }, {}],
    ["requires approval for a tool without annotations", "assumed", undefined, asks],
    ["requires approval for a tool with only idempotentHint: true", "assumed", { idempotentHint: true }, { ...asks, ...repeats }],
    ["gives no traits for destructiveHint: false", "assumed", { destructiveHint: false }, {}],
    ["requires approval for a destructive tool", "assumed", { destructiveHint: true }, asks],
    ["makes a read-only tool eager and idempotent", "assumed", { readOnlyHint: true }, reads],
    ["gives no traits to a read-only idempotent tool", "ignored", { readOnlyHint: true, idempotentHint: true }, {}],
    ["gives no traits to a destructive tool", "ignored", { destructiveHint: true }, {}],
  ])('%s if the option annotations is "%s"', ([, rule, annotations, traits]) => {
    expect(toTraits({ name: "a", inputSchema: {}, annotations }, rule)).toStrictEqual(traits);
  });
});

describe("mergeTraits (MCP)", () => {
  it.for<[does: string, traits: ToolTraits, own: ToolTraits | undefined, merged: ToolTraits]>([
    ["keeps the server's traits if the caller passes undefined", reads, undefined, reads],
    ["keeps the server's traits if the caller passes an empty object", reads, {}, reads],
    ["adds a trait that only the caller sets", reads, { timeoutMs: 5 }, { ...reads, timeoutMs: 5 }],
    ["ignores a trait that the caller sets to undefined", reads, { eager: undefined }, reads],
    ["lets the caller set eager to false", reads, { eager: false }, { ...reads, eager: false }],
    [
      "drops eager from the server's traits if the caller requires approval",
      reads,
      { needsApproval: true },
      { ...asks, idempotent: true, replay: "safe" },
    ],
    [
      "keeps eager from the server's traits if the caller sets needsApproval to false",
      reads,
      { needsApproval: false },
      { ...reads, needsApproval: false },
    ],
    [
      "drops eager from the server's traits if the caller sets sequential",
      reads,
      { sequential: true },
      { sequential: true, idempotent: true, replay: "safe" },
    ],
    [
      "drops eager from the server's traits if the caller sets replay to never",
      reads,
      { replay: "never" },
      { idempotent: true, replay: "never" },
    ],
    ["lets the caller turn off the approval of a destructive tool", asks, { needsApproval: false }, { needsApproval: false }],
    [
      "drops retry from the server's traits if the caller sets idempotent to false",
      repeats,
      { idempotent: false },
      { idempotent: false, replay: "safe" },
    ],
    [
      "lets the caller replace retry from the server's traits",
      repeats,
      { retry: { maxAttempts: 5 } },
      { ...repeats, retry: { maxAttempts: 5 } },
    ],
    [
      "accepts a caller's retry without idempotent, although creating the tool rejects it",
      {},
      { retry: { maxAttempts: 5 } },
      { retry: { maxAttempts: 5 } },
    ],
    [
      "accepts eager with needsApproval, although creating the tool rejects both together",
      asks,
      { eager: true },
      { ...asks, eager: true },
    ],
  ])("%s", ([, traits, own, merged]) => {
    expect(mergeTraits(traits, own)).toStrictEqual(merged);
  });
});
