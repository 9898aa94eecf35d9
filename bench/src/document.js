import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";

/**
 * Writes a table into a page of the documentation, between the comments `<mark>:start` and `<mark>:end`.
 *
 * @param {"performance" | "comparison"} name
 * @param {string} table
 * @param {string} [mark]
 */
export function writeTable(name, table, mark = "bench") {
  const start = `<!-- ${mark}:start -->`;
  const end = `<!-- ${mark}:end -->`;
  const page = new URL(`../../docs/${name}.md`, import.meta.url);
  const text = readFileSync(page, "utf8");
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/${name}.md must contain the lines ${start} and ${end}.`);
  const date = new Date().toISOString().slice(0, 10);
  const about = `Node ${process.versions.node}, ${cpus().length} cores, ${date}.`;
  writeFileSync(page, `${text.slice(0, from + start.length)}\n${about}\n\n${table}\n${text.slice(to)}`);
}
