import { readFileSync } from "node:fs";
import { features } from "./features.js";

/** @typedef {Readonly<Record<string, string>>} Cells The cells of one library, by feature. */

/** The titles of the libraries, by the name of their program. */
export const libraries = {
  turnwright: titleOf("turnwright", "../../../package.json"),
  "ai-sdk": titleOf("AI SDK", "../../node_modules/ai/package.json"),
  "openai-agents": titleOf("OpenAI Agents", "../../node_modules/@openai/agents/package.json"),
};

/**
 * @param {string} title
 * @param {string} path
 */
function titleOf(title, path) {
  return `${title} ${String(JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")).version)}`;
}

/** @param {Readonly<Record<string, Cells>>} all the cells of each library */
export function toFeatureTable(all) {
  const names = Object.keys(all);
  const head = ["Feature", ...names.map((name) => libraries[/** @type {keyof typeof libraries} */ (name)])];
  // Leaves out a feature that turnwright lacks, because the table would compare nothing.
  const rows = features
    .filter(({ name }) => all["turnwright"]?.[name] !== "-")
    .map(({ name, title }) => [title, ...names.map((library) => all[library]?.[name] ?? "-")]);
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
