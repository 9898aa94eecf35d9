import { readFileSync } from "node:fs";
import { dist } from "../turnwright.js";

/**
 * @typedef {{ file: string, export: string, package: string, version: string }} PeerModule
 * @typedef {Readonly<Record<string, number>>} Figures One number per workload: the ratio to the minimal loop, or a duration in milliseconds.
 */

/** @type {Readonly<Record<string, PeerModule>>} */
export const peers = {
  turnwright: {
    file: "./turnwright.js",
    export: "run",
    package: new URL("index.js", dist).href,
    version: versionOf("../../../package.json"),
  },
  "pi-agent-core": peer("pi.js", "run", "@earendil-works/pi-agent-core"),
  "AI SDK, generate": peer("ai-sdk.js", "generate", "ai"),
  "AI SDK, stream": peer("ai-sdk.js", "stream", "ai"),
  "OpenAI Agents": peer("openai-agents.js", "run", "@openai/agents"),
};

/**
 * @param {string} file
 * @param {string} exported
 * @param {string} name
 * @returns {PeerModule}
 */
function peer(file, exported, name) {
  return { file: `./${file}`, export: exported, package: name, version: versionOf(`../../node_modules/${name}/package.json`) };
}

/** @param {string} path */
function versionOf(path) {
  return String(JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")).version);
}

/** @param {Readonly<Record<string, Figures>>} all */
export function toPeerTable(all) {
  const names = Object.keys(all);
  const workloads = Object.keys(Object.values(all)[0] ?? {});
  const head = ["workload", ...names.map((name) => `${name} ${peers[name]?.version ?? ""}`.trim())];
  const rows = workloads.map((workload) => [workload, ...names.map((name) => toCell(workload, all[name]?.[workload]))]);
  const lines = [head, head.map((_, column) => (column === 0 ? "---" : "--:")), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/**
 * @param {string} workload
 * @param {number | undefined} figure
 */
function toCell(workload, figure = Number.NaN) {
  const text = figure >= 100 ? Math.round(figure).toLocaleString("en") : figure.toFixed(1);
  return workload.endsWith(", ms") ? `${text} ms` : `${text}x`;
}
