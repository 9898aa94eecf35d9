// Tests the pages in docs/sources, which map the names of another design to this library. A name without a row fails, and so does a
// row that names missing code or a missing test file.

import { expect, it } from "vitest";
import { expectCode, expectTests } from "./mapped-row.ts";
import { readNames, readRows, readSection } from "./read-page.ts";

/** For each section of a page, the first name of each table row, in order. */
export type DesignParts = { readonly [section: string]: readonly string[] };

const differences = "Differences";

export function firstNames(page: string, section: string): readonly (string | undefined)[] {
  return readRows(readSection(page, section)).map(([cell = ""]) => readNames(cell)[0]);
}

/** Every table must be in a section that `parts` names, or under "Differences". */
export function testMapping(page: string, parts: DesignParts): void {
  const rows = [...Object.keys(parts), differences].flatMap((section) =>
    readRows(readSection(page, section)).map((cells) => [`"${readNames(cells[0] ?? "")[0]}" under "${section}"`, cells] as const),
  );

  it.for(Object.entries(parts))(
    'docs/sources: the section "%s" has one row for each name in the original design',
    ([section, names]) => {
      expect(firstNames(page, section)).toEqual(names);
    },
  );

  it("docs/sources: each row of a mapped design belongs to a known section and has a name", () => {
    const lines = page.split("\n").filter((line) => line.startsWith("|") && !/^\|(---| Source \| | Difference \| )/.test(line));
    expect(lines.length).toBe(rows.length);
  });

  it.for(rows)("docs/sources: the row %s names existing code and test files", ([, cells]) => {
    const [theirs = "", ours = "", tests = ""] = cells;
    expect([cells.length, cells.includes("")]).toEqual([3, false]);
    expectTests(tests);
    expectCode(ours);
    if (theirs.includes("`src/")) expectCode(theirs);
  });
}
