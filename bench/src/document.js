import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";

/**
 * Writes a table into a page of the documentation, between the comments `<mark>:start` and `<mark>:end`, with the date and the
 * machine of the measurement.
 *
 * @param {"performance" | "comparison" | "guides/typed-tools"} name
 * @param {string} table
 * @param {string} [mark]
 */
export function writeTable(name, table, mark = "bench") {
  const date = new Date().toISOString().slice(0, 10);
  writeFigures(name, `Node ${process.versions.node}, ${cpus().length} cores, ${date}.\n\n${table}`, mark);
}

/**
 * Writes figures that are equal on each machine into a page, between the comments `<mark>:start` and `<mark>:end`.
 *
 * @param {string} name
 * @param {string} figures
 * @param {string} mark
 */
export function writeFigures(name, figures, mark) {
  const start = `<!-- ${mark}:start -->`;
  const end = `<!-- ${mark}:end -->`;
  const page = new URL(`../../docs/${name}.md`, import.meta.url);
  const text = readFileSync(page, "utf8");
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/${name}.md must contain the lines ${start} and ${end}.`);
  writeFileSync(page, `${text.slice(0, from + start.length)}\n${figures}\n${text.slice(to)}`);
}

/**
 * @param {string} name
 * @param {string} svg
 */
export function writePicture(name, svg) {
  writeFileSync(new URL(`../../docs/${name}.svg`, import.meta.url), svg);
}
