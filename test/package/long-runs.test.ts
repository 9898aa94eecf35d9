// Runs the benchmark of long runs with the built package, and compares its figures with the guide. `npm --prefix bench run
// bench:write -- long-runs` writes the figures.

import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";

interface Facts {
  readonly name: string;
  readonly status: string;
  readonly code?: string;
  readonly requests: number;
  readonly largest: number;
  readonly compactions: number;
  readonly share: number;
  readonly costUSD?: number;
  readonly money: { readonly plain: number; readonly cached: number; readonly automatic: number };
}

interface LongRuns {
  readonly money: string;
  readonly tokens: string;
  readonly plot: string;
  readonly facts: readonly Facts[];
}

let measured: LongRuns;

beforeAll(async () => {
  const [message] = await once(fork("bench/src/long-runs/measure.js"), "message");
  measured = message as LongRuns;
  // The benchmark takes 20 seconds of processor time, which may be much longer while other gates run.
}, 600_000);

function factsOf(name: string): Facts {
  const found = measured.facts.find((facts) => facts.name === name);
  if (found === undefined) throw new Error(`There is no agent "${name}".`);
  return found;
}

it("docs/guides/long-runs.md and docs/performance.md show the tables and the chart from the current measurements", () => {
  const guide = readFileSync("docs/guides/long-runs.md", "utf8");
  expect(guide).toContain(`<!-- money:start -->\n${measured.money}\n<!-- money:end -->`);
  const performance = readFileSync("docs/performance.md", "utf8");
  expect(performance).toContain(`<!-- tokens:start -->\n${measured.tokens}\n<!-- tokens:end -->`);
  expect(readFileSync("docs/guides/long-runs.svg", "utf8")).toBe(measured.plot);
});

it("a long run without masking or compaction ends with context-too-long before the work is done", () => {
  expect(factsOf("nothing")).toMatchObject({ status: "error", code: "context-too-long" });
  expect(factsOf("nothing").largest).toBeGreaterThan(200_000);
});

it("long runs that fit in the context window keep at least 95% of the possible cache prefix", () => {
  for (const { name, ...facts } of measured.facts.filter(({ name }) => name !== "nothing")) {
    expect([name, facts.status]).toEqual([name, "completed"]);
    expect(facts.share).toBeGreaterThanOrEqual(0.95);
    expect(facts.costUSD).toBeCloseTo(facts.money.cached, 6);
    expect(facts.money.cached).toBeLessThan(facts.money.plain * 0.3);
  }
});

it("long runs with masking: batchOf 5 is cheapest with a cache, and batchOf 1 without a cache", () => {
  const [one, five, ten] = [1, 5, 10].map((batchOf) => factsOf(`masking, \`batchOf: ${batchOf}\``).money);
  expect(five?.cached).toBeLessThan(Math.min(one?.cached ?? 0, ten?.cached ?? 0));
  expect(one?.plain).toBeLessThan(Math.min(five?.plain ?? 0, ten?.plain ?? 0));
});

it("long runs with compaction: early compactions are cheaper than late compactions", () => {
  const [late, early] = [factsOf("compaction at 160,000"), factsOf("compaction at 60,000")];
  const both = factsOf("both: `batchOf: 5`, 60,000");
  expect(early.money.cached).toBeLessThan(late.money.cached);
  expect([both.compactions > 0, both.compactions < early.compactions]).toEqual([true, true]);
});

it("long runs: deferring 300 tools lowers the cost, and deferring 40 tools raises the cost", () => {
  const costOf = (name: string): number => factsOf(name).money.cached;
  expect(costOf("masking, 300 deferred tools")).toBeLessThan(costOf("masking, 300 tools"));
  expect(costOf("masking, 40 deferred tools")).toBeGreaterThan(costOf("masking, `batchOf: 5`"));
});
