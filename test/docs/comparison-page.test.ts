// The comparison is true to this side: each behaviour names a test that is there. The bench writes the table of costs.

import { expect, it } from "vitest";
import { expectTest } from "./mapped-row.ts";
import { readPage, readSection, readTable } from "./read-page.ts";

const page = readPage("docs/comparison.md");

it.for(readTable(readSection(page, "Behaviour")))("%s: names a test that is there", (cells) => {
  const [, others = "", test = ""] = cells;
  expect([cells.length, others === ""]).toEqual([3, false]);
  expectTest(test);
});

it("has a figure for each workload and library", () => {
  const costs = readTable(readSection(page, "Cost"));
  expect(costs.map(([workload, ...figures]) => [workload !== "", figures.length])).toEqual(costs.map(() => [true, 5]));
  expect(costs.flatMap(([, ...figures]) => figures).filter((figure) => !/^[\d,.]+(x| ms)$/.test(figure))).toEqual([]);
});

it("has rows in both tables", () => {
  expect([readTable(readSection(page, "Behaviour")).length, readTable(readSection(page, "Cost")).length]).toEqual([18, 8]);
});
