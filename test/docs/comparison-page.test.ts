import { expect, it } from "vitest";
import { expectTests } from "./mapped-row.ts";
import { readPage, readSection, readTable } from "./read-page.ts";

const page = readPage("docs/comparison.md");

it.for(readTable(readSection(page, "Behavior")))('docs/comparison.md: the row "%s" names an existing test file', (cells) => {
  const [, others = "", tests = ""] = cells;
  expect([cells.length, others === ""]).toEqual([3, false]);
  expectTests(tests);
});

it("docs/comparison.md: the cost table has a figure for each workload and library", () => {
  const costs = readTable(readSection(page, "CPU and wall-clock time"));
  expect(costs.map(([workload, ...figures]) => [workload !== "", figures.length])).toEqual(costs.map(() => [true, 5]));
  expect(costs.flatMap(([, ...figures]) => figures).filter((figure) => !/^[\d,.]+(x| ms)$/.test(figure))).toEqual([]);
});

it('docs/comparison.md: has 18 rows under "Behavior" and 8 rows under "CPU and wall-clock time"', () => {
  expect([
    readTable(readSection(page, "Behavior")).length,
    readTable(readSection(page, "CPU and wall-clock time")).length,
  ]).toEqual([18, 8]);
});
