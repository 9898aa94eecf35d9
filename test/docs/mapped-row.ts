// Checks the rows of pages that map names: what a row says of our code and of a test is there.

import { existsSync } from "node:fs";
import { expect } from "vitest";
import { readNames, readPage } from "./read-page.ts";

/** A cell such as "`test/loop/gate.test.ts` "lets nothing through"" names a test that is there, by its title. */
export function expectTest(cell: string): void {
  const [, path = "", title = ""] = /^`((?:src|test)\/[\w/-]+\.test\.ts)` "(.+)"$/.exec(cell) ?? [];
  expect(existsAt(path), `the test ${path}`).toBe(true);
  expect(readPage(path).includes(`"${title}"`), `${path}: "${title}"`).toBe(true);
}

/** Each file that a cell names is there, with the words that lead to it: "`a` of `B` in `src/c.ts`". */
export function expectCode(cell: string): void {
  for (const { path, names } of placesIn(cell)) {
    expect(existsAt(path), `the file ${path}`).toBe(true);
    const words = new Set(readPage(path).split(/[^\w-]+/));
    const missing = names.filter((name) => !words.has(name));
    expect(missing, `in ${path}`).toEqual([]);
  }
}

function existsAt(path: string): boolean {
  return path !== "" && existsSync(new URL(`../../${path}`, import.meta.url));
}

function placesIn(cell: string): readonly { readonly path: string; readonly names: readonly string[] }[] {
  const places: { readonly path: string; readonly names: readonly string[] }[] = [];
  let names: string[] = [];
  for (const name of readNames(cell)) {
    if (!name.startsWith("src/")) names.push(name);
    else {
      places.push({ path: name, names });
      names = [];
    }
  }
  return places;
}
