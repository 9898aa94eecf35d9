import { readFileSync } from "node:fs";

export function readPage(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
}

export function readSection(page: string, heading: string): string {
  const [, ...rest] = page.split(new RegExp(`^#+ ${heading}$`, "m"));
  return rest.join("").split(/^#+ /m)[0] ?? "";
}

/** Returns the cells of all table rows whose first cell is a name. Omits the header rows. */
export function readRows(text: string): readonly (readonly string[])[] {
  return text
    .split("\n")
    .filter((line, index, lines) => line.startsWith("| `") && lines[index + 1]?.startsWith("|---") !== true)
    .map(toCells);
}

export function readTable(text: string): readonly (readonly string[])[] {
  const isRule = (line: string | undefined): boolean => /^\|\s*:?---/.test(line ?? "");
  const isRow = (line: string, next: string | undefined): boolean => line.startsWith("|") && !isRule(line) && !isRule(next);
  const lines = text.split("\n");
  return lines.filter((line, index) => isRow(line, lines[index + 1])).map(toCells);
}

function toCells(line: string): readonly string[] {
  const cells = line.split("|").slice(1, -1);
  return cells.map((cell) => cell.trim());
}

/** Returns every text in backticks, in order. Omits code blocks. */
export function readNames(text: string): readonly string[] {
  const prose = text.replace(/^```.*?^```$/gms, "");
  return Array.from(prose.matchAll(/`([^`]+)`/g), ([, name = ""]) => name);
}

export function sorted(texts: Iterable<string>): readonly string[] {
  return [...texts].sort();
}
