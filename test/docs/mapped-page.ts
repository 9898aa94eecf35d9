// Pages that map another design to ours: nothing of it is left out, and each row names things that are there and a test that is there.

import { expect, it } from "vitest";
import { expectCode, expectTest } from "./mapped-row.ts";
import { readNames, readRows, readSection } from "./read-page.ts";

/** What a design consists of, by section: the first name of each row, in order. */
export type DesignParts = { readonly [section: string]: readonly string[] };

const differences = "What is different, and why";

/** The first name of each row of a section. */
export function firstNames(page: string, section: string): readonly (string | undefined)[] {
  return readRows(readSection(page, section)).map(([cell = ""]) => readNames(cell)[0]);
}

/** Tests a page, of which `mapped` is the part that maps. */
export function testMapping(page: string, parts: DesignParts, mapped: string = page): void {
  const rows = [...Object.keys(parts), differences].flatMap((section) =>
    readRows(readSection(page, section)).map((cells) => [`${section}: ${cells[0]}`, cells] as const),
  );

  it.for(Object.entries(parts))("maps all there is of: %s", ([section, names]) => {
    expect(firstNames(page, section)).toEqual(names);
  });

  it("has no row outside its sections, and none that is not read", () => {
    const lines = mapped.split("\n").filter((line) => line.startsWith("|") && !/^\|(---| Theirs \| | What \| )/.test(line));
    expect(lines.length).toBe(rows.length);
  });

  it.for(rows)("%s: names a test and code that are there", ([, cells]) => {
    const [theirs = "", ours = "", test = ""] = cells;
    expect([cells.length, cells.includes("")]).toEqual([3, false]);
    expectTest(test);
    expectCode(ours);
    if (theirs.includes("`src/")) expectCode(theirs);
  });
}
