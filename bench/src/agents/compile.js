// Measures how much longer a type check of many tools takes than a type check of one tool.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const rounds = 3;

/**
 * @param {string} imports
 * @param {(index: number) => string} toTool returns the source of one tool
 */
export async function measureCompile(imports, toTool) {
  // The folder must be inside of bench/, so that the compiler finds the packages of the benchmarks.
  const folder = mkdtempSync(`${root}bench/compile-`);
  const timeOf = (/** @type {number} */ count) => {
    const tools = Array.from({ length: count }, (_, index) => toTool(index));
    writeFileSync(`${folder}/tools.ts`, [imports, ...tools, ""].join("\n"));
    const startedAt = performance.now();
    const { status, stdout } = spawnSync(process.execPath, [`${root}node_modules/typescript-7/bin/tsc`, "-p", folder], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(stdout);
    return performance.now() - startedAt;
  };
  try {
    const paths = { turnwright: [`${root}dist/index.d.ts`] };
    const compilerOptions = {
      noEmit: true,
      strict: true,
      skipLibCheck: true,
      target: "es2022",
      module: "preserve",
      types: [],
      paths,
    };
    writeFileSync(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions, files: ["tools.ts"] }));
    let one = Number.POSITIVE_INFINITY;
    let many = Number.POSITIVE_INFINITY;
    for (let round = 0; round < rounds; round += 1) {
      one = Math.min(one, timeOf(1));
      many = Math.min(many, timeOf(50));
    }
    return `${Math.max(0, many - one).toFixed(0)} ms`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
