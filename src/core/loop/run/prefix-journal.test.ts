import { describe, expect, it } from "vitest";
import type { Journal, Step } from "../../types/old-journal.ts";
import { memoryJournal } from "../../journal/memory-journal.ts";
import { prefixJournal } from "./journal-call.ts";

const step = (key: string, answer: unknown): Step<unknown> => ({ key, kind: "tool", input: { key }, run: () => answer });

describe("prefixJournal", () => {
  it("step() adds the prefix to the key and passes the rest of the step on unchanged", () => {
    const asked: unknown[] = [];
    const journal: Journal = {
      durable: true,
      ordered: true,
      step: (one) => {
        asked.push([one.key, one.kind, one.input]);
        return one.run({});
      },
      all: (steps) => steps.map((one) => journal.step(one)) as never,
    };
    const part = prefixJournal(journal, { prefix: "i0/tool/0/a/" });
    expect(part.step(step("i0/inbox", 1))).toBe(1);
    expect(part.all([step("x", 2), step("y", 3)])).toEqual([2, 3]);
    expect(asked).toEqual([
      ["i0/tool/0/a/i0/inbox", "tool", { key: "i0/inbox" }],
      ["i0/tool/0/a/x", "tool", { key: "x" }],
      ["i0/tool/0/a/y", "tool", { key: "y" }],
    ]);
    expect([part.durable, part.ordered]).toEqual([true, true]);
  });

  it("step() passes the signal from the outer journal on to the step", () => {
    const { signal } = new AbortController();
    const journal: Journal = { durable: true, step: ({ run }) => run({ signal }), all: () => [] };
    const seen: unknown[] = [];
    const run: Step<unknown>["run"] = (call) => seen.push(call.signal);
    void prefixJournal(journal, { prefix: "a/" }).step({ ...step("x", 1), run });
    expect(seen).toEqual([signal]);
  });

  it("step() uses different keys for nested and for sibling prefixes", () => {
    const journal = memoryJournal();
    const outer = prefixJournal(journal, { prefix: "a/" });
    const inner = prefixJournal(outer, { prefix: "b/" });
    void outer.step(step("x", 1));
    void inner.step(step("x", 2));
    void prefixJournal(journal, { prefix: "c/" }).step(step("x", 3));
    expect(JSON.parse(JSON.stringify(journal))).toEqual({ steps: { "a/x": 1, "a/b/x": 2, "c/x": 3 } });
  });

  it("step() replays only records under the prefix", () => {
    const journal = memoryJournal({ steps: { "a/x": 1, x: 2 } });
    const part = prefixJournal(journal, { prefix: "a/" });
    expect([part.step(step("x", "new")), part.step(step("y", "new"))]).toEqual([1, "new"]);
  });
});
