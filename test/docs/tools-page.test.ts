import { expect, it } from "vitest";
import type { ToolOutcome } from "turnwright";
import { countsAsError, renderOutcome } from "../../src/shared/to-outcome.ts";
import { traits } from "./known-names.ts";
import { readNames, readPage, readRows, readSection } from "./read-page.ts";

const call = { callId: "call_1", name: "search", args: {} };
const base = { call, durationMs: 0 };

const samples: { readonly [Kind in ToolOutcome["kind"]]: ToolOutcome & { readonly kind: Kind } } = {
  completed: { ...base, kind: "completed", data: { pages: 3 } },
  failed: { ...base, kind: "failed", error: { name: "Error", message: "out of order" } },
  "timed-out": { ...base, kind: "timed-out", limitMs: 1_000 },
  blocked: { ...base, kind: "blocked", allowed: ["read"] },
  denied: { ...base, kind: "denied", reason: "not today" },
  "approval-failed": { ...base, kind: "approval-failed", error: { name: "Error", message: "the office is closed" } },
  "unknown-tool": { ...base, call: { ...call, name: "serach" }, kind: "unknown-tool", known: ["search"], nearest: "search" },
  "invalid-input": { ...base, kind: "invalid-input", issues: [{ message: "expected a string", path: ["query"] }] },
  malformed: { ...base, kind: "malformed", message: "Unexpected end of JSON input" },
  truncated: { ...base, kind: "truncated" },
  interrupted: { ...base, kind: "interrupted" },
  "not-run": { ...base, kind: "not-run" },
  limit: { ...base, kind: "limit" },
  deferred: { ...base, kind: "deferred" },
};

const page = readPage("docs/tools.md");

it("docs/tools.md: lists every outcome with its text and error count", () => {
  const listed = readRows(readSection(page, "What the model reads")).map(([kind, , reads, counts]) => [kind, reads, counts]);
  const known = Object.values(samples).map((outcome) => [
    `\`${outcome.kind}\``,
    `\`${JSON.stringify(renderOutcome(outcome))}\``,
    countsAsError(outcome.kind) ? "yes" : "no",
  ]);
  expect(listed).toEqual(known);
});

it("docs/tools.md: lists every trait once", () => {
  const listed = readRows(readSection(page, "Traits")).map(([trait = ""]) => readNames(trait)[0]);
  expect(listed).toEqual(Object.keys(traits));
});
