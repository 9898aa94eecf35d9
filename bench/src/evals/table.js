import { readFileSync } from "node:fs";
import { features } from "./features.js";

/** The titles of the libraries, by the name of their program. */
export const libraries = {
  turnwright: `turnwright ${versionOf("../../../package.json")}`,
  "vitest-evals": `vitest-evals ${installed("vitest-evals")}, vitest ${installed("vitest")}`,
  evalite: `evalite ${installed("evalite")}, vitest ${installed("vitest")}`,
  mastra: `Mastra evals ${installed("@mastra/evals")}, core ${installed("@mastra/core")}`,
};

/** @param {string} name */
function installed(name) {
  return versionOf(`../../node_modules/${name}/package.json`);
}

/** @param {string} path */
function versionOf(path) {
  return String(JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")).version);
}

/** @param {Readonly<Record<string, import("../agents/table.js").Cells>>} all the cells of each library */
export function toEvalTable(all) {
  const names = Object.keys(all);
  const head = ["Question", ...names.map((name) => libraries[/** @type {keyof typeof libraries} */ (name)])];
  const rows = features.map(({ name, title }) => [title, ...names.map((library) => all[library]?.[name] ?? "-")]);
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
