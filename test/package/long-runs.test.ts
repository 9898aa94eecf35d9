// Plays the benchmark of long runs with the built package, and compares its figures with the guide. `npm --prefix bench run
// bench:write -- long-runs` writes them.

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
});

function factsOf(name: string): Facts {
  const found = measured.facts.find((facts) => facts.name === name);
  if (found === undefined) throw new Error(`There is no agent "${name}".`);
  return found;
}

it("docs/guides/long-runs.md: shows the measured tables and picture", () => {
  const page = readFileSync("docs/guides/long-runs.md", "utf8");
  expect(page).toContain(`<!-- money:start -->\n${measured.money}\n<!-- money:end -->`);
  expect(page).toContain(`<!-- tokens:start -->\n${measured.tokens}\n<!-- tokens:end -->`);
  expect(readFileSync("docs/guides/long-runs.svg", "utf8")).toBe(measured.plot);
});

it("a long run without care: ends with context-too-long before its work is done", () => {
  expect(factsOf("nothing")).toMatchObject({ status: "error", code: "context-too-long" });
  expect(factsOf("nothing").largest).toBeGreaterThan(200_000);
});

it("long runs that fit their window: end with the answer, keep 95 % of the possible prefix, and pay less than half with a cache", () => {
  for (const { name, ...facts } of measured.facts.filter(({ name }) => name !== "nothing")) {
    expect([name, facts.status]).toEqual([name, "completed"]);
    expect(facts.share).toBeGreaterThanOrEqual(0.95);
    expect(facts.costUSD).toBeCloseTo(facts.money.cached, 6);
    expect(facts.money.cached).toBeLessThan(facts.money.plain / 2);
  }
  expect(factsOf("both: `batchOf: 5`, 60,000").compactions).toBeGreaterThan(0);
});

it("a long run with 300 deferred tools: costs less than one with 300 visible tools", () => {
  const [visible, deferred] = [factsOf("masking, 300 tools"), factsOf("masking, 300 deferred tools")];
  expect(deferred.money.cached).toBeLessThan(visible.money.cached);
  expect(deferred.requests).toBeGreaterThan(visible.requests);
});
