import { expect, it } from "vitest";
import { expectTests } from "./mapped-row.ts";
import { readPage, readSection, readTable } from "./read-page.ts";

const page = readPage("docs/comparison.md");

it.for(readTable(readSection(page, "Behaviour")))('docs/comparison.md: the row "%s" names an existing test file', (cells) => {
  const [, others = "", tests = ""] = cells;
  expect([cells.length, others === ""]).toEqual([3, false]);
  expectTests(tests);
});

it("docs/comparison.md: the cost table has a figure for each workload and library", () => {
  const costs = readTable(readSection(page, "Cost"));
  expect(costs.map(([workload, ...figures]) => [workload !== "", figures.length])).toEqual(costs.map(() => [true, 5]));
  expect(costs.flatMap(([, ...figures]) => figures).filter((figure) => !/^[\d,.]+(x| ms)$/.test(figure))).toEqual([]);
});

it('docs/comparison.md: has 18 rows under "Behaviour" and 8 rows under "Cost"', () => {
  expect([readTable(readSection(page, "Behaviour")).length, readTable(readSection(page, "Cost")).length]).toEqual([18, 8]);
});
