// Puts the table into the documentation, between two markers.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";

const page = new URL("../../docs/performance.md", import.meta.url);
const start = "<!-- bench:start -->";
const end = "<!-- bench:end -->";
const newPage = `# Performance\n\n${start}\n${end}\n`;

/**
 * Replaces what stands between the markers of docs/performance.md; makes the page where there is none.
 *
 * @param {string} table
 */
export function writeTable(table) {
  const text = existsSync(page) ? readFileSync(page, "utf8") : newPage;
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/performance.md has no ${start} … ${end}.`);
  const date = new Date().toISOString().slice(0, 10);
  const about = `Node ${process.versions.node}, ${cpus().length} cores, ${date}.`;
  writeFileSync(page, `${text.slice(0, from + start.length)}\n${about}\n\n${table}\n${text.slice(to)}`);
}
