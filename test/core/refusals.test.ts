// A refused call is refused again after a crash at any record, also before the record of its end.

import { expect, it } from "vitest";
import { approve, defineTool, gateTools, memoryJournal, type Middleware, runToolLoop } from "turnwright";
import { guardrails } from "turnwright/middleware";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const messages = [{ role: "user", content: "Go." }] as const;

const denies: Middleware = {
  name: "denies",
  call: async (call, next) => (call.name === "pay" ? { call, durationMs: 0, kind: "denied", reason: "No." } : next(call)),
};

it.for<[by: string, middleware: readonly Middleware[], outcome: string, limits: object]>([
  ["middleware without a step", [denies], "denied", {}],
  ["a policy", [approve(({ name }) => ({ kind: name === "pay" ? "deny" : "approve" }))], "denied", {}],
  ["an edit that does not match the schema", [approve(({ name }) => edit(name))], "invalid-input", {}],
  ["a guardrail", [guardrails({ tools: [{ name: "pay", check: ({ name }) => check(name) }] })], "denied", {}],
  ["gateTools", [gateTools({ active: true, allowedNames: ["look"] })], "blocked", {}],
  ["limits.maxToolCalls", [], "limit", { maxToolCalls: 1 }],
])(
  "a call refused by %s has the same outcome when resumed from any prefix of the journal",
  async ([, middleware, outcome, limits]) => {
    const ran: string[] = [];
    const inputSchema = z.object({ amount: z.number().optional() });
    const tools = ["look", "pay"].map((name) =>
      defineTool({ name, description: name, inputSchema, execute: () => ran.push(name) }),
    );
    const run = (journal: ReturnType<typeof memoryJournal>) => {
      const calls = ["look", "pay"].map((name) => toolCall(name, {}));
      const provider = createMockProvider(({ messages: said }) => (said.length === 1 ? calls : text("Done.")));
      return runToolLoop({ provider, tools, messages, middleware, limits, journal, runId: "r" });
    };
    const journal = memoryJournal();
    const first = await run(journal);
    expect(first.calls.map((one) => one.outcome)).toEqual(["completed", outcome]);
    const entries = Object.entries(journal.toJSON().steps);
    for (let count = 0; count <= entries.length; count += 1) {
      ran.length = 0;
      const again = await run(memoryJournal({ steps: Object.fromEntries(entries.slice(0, count)) }));
      const kinds = again.calls.map((one) => one.outcome);
      expect([count, kinds, again.text, ran.includes("pay")]).toEqual([count, ["completed", outcome], "Done.", false]);
    }
  },
);

function edit(
  name: string,
): { readonly kind: "approve" } | { readonly kind: "modify"; readonly args: { readonly amount: string } } {
  return name === "pay" ? { kind: "modify", args: { amount: "much" } } : { kind: "approve" };
}

function check(name: string): { readonly kind: "pass" } | { readonly kind: "refuse"; readonly reason: string } {
  return name === "pay" ? { kind: "refuse", reason: "No." } : { kind: "pass" };
}
