// The page that compares is true to this side: each behaviour names a test that is there, each figure is that of the performance page.

import { expect, it } from "vitest";
import { expectTest } from "./mapped-row.ts";
import { readPage, readSection, readTable } from "./read-page.ts";

const page = readPage("docs/comparison.md");
const measured = readTable(readSection(readPage("docs/performance.md"), "Performance"));

it.for(readTable(readSection(page, "Behaviour")))("%s: names a test that is there", (cells) => {
  const [, others = "", test = ""] = cells;
  expect([cells.length, others === ""]).toEqual([3, false]);
  expectTest(test);
});

it.for(readTable(readSection(page, "Cost")))("%s: %s was measured", ([workload = "", here = ""]) => {
  const row = measured.find(([name]) => name === workload) ?? [];
  expect(row.slice(1)).toContain(here);
});

it("has rows in both tables", () => {
  expect([readTable(readSection(page, "Behaviour")).length, readTable(readSection(page, "Cost")).length]).toEqual([18, 5]);
});
