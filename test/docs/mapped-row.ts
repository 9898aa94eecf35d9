import { existsSync } from "node:fs";
import { expect } from "vitest";
import { readNames, readPage } from "./read-page.ts";

const testPath = /^`((?:src|test)\/[\w/-]+\.test\.ts)`$/;

/** Checks that a cell lists existing test files, each once, as in "`test/loop/gate.test.ts`, `test/loop/batches.test.ts`". */
export function expectTests(cell: string): void {
  const items = cell.split(", ");
  const paths = items.map((item) => testPath.exec(item)?.[1] ?? "");
  const missing = items.filter((_, index) => !existsAt(paths[index] ?? ""));
  expect(missing, "no paths of existing test files").toEqual([]);
  expect(new Set(paths).size, "a test file is named twice").toBe(paths.length);
}

/** Checks that each source file in a cell exists and contains the names before it, as in "`a` of `B` in `src/c.ts`". */
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
