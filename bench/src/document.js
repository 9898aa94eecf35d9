import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";

const start = "<!-- bench:start -->";
const end = "<!-- bench:end -->";

/**
 * Writes a table into a page of the documentation, between the lines `bench:start` and `bench:end`.
 *
 * @param {"performance" | "comparison"} name
 * @param {string} table
 */
export function writeTable(name, table) {
  const page = new URL(`../../docs/${name}.md`, import.meta.url);
  const text = readFileSync(page, "utf8");
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/${name}.md must contain the lines ${start} and ${end}.`);
  const date = new Date().toISOString().slice(0, 10);
  const about = `Node ${process.versions.node}, ${cpus().length} cores, ${date}.`;
  writeFileSync(page, `${text.slice(0, from + start.length)}\n${about}\n\n${table}\n${text.slice(to)}`);
}
