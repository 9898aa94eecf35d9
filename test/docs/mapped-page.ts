// Pages that map another design to ours are complete: each name of the design has a row, and each row names existing code and test files.

import { expect, it } from "vitest";
import { expectCode, expectTests } from "./mapped-row.ts";
import { readNames, readRows, readSection } from "./read-page.ts";

/** The parts of a design, by section: the first name of each row, in order. */
export type DesignParts = { readonly [section: string]: readonly string[] };

const differences = "Differences";

/** The first name of each row of a section. */
export function firstNames(page: string, section: string): readonly (string | undefined)[] {
  return readRows(readSection(page, section)).map(([cell = ""]) => readNames(cell)[0]);
}

/** Tests a page. All of its tables must be in the sections of `parts` or under "Differences". */
export function testMapping(page: string, parts: DesignParts): void {
  const rows = [...Object.keys(parts), differences].flatMap((section) =>
    readRows(readSection(page, section)).map((cells) => [`${section}: ${cells[0]}`, cells] as const),
  );

  it.for(Object.entries(parts))("source mapping: has a row for every name of the section %s", ([section, names]) => {
    expect(firstNames(page, section)).toEqual(names);
  });

  it("source mapping: has no row outside its sections or without a name", () => {
    const lines = page.split("\n").filter((line) => line.startsWith("|") && !/^\|(---| Source \| | Difference \| )/.test(line));
    expect(lines.length).toBe(rows.length);
  });

  it.for(rows)("source mapping: names existing code and test files for: %s", ([, cells]) => {
    const [theirs = "", ours = "", tests = ""] = cells;
    expect([cells.length, cells.includes("")]).toEqual([3, false]);
    expectTests(tests);
    expectCode(ours);
    if (theirs.includes("`src/")) expectCode(theirs);
  });
}
