// Measures the CPU time of a type check: 50 tools with zod schemas in one call of `runToolLoop`, with and without the types of the
// tools. Sends the rows of the table to the parent process.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** @typedef {import("../row.js").Row} Row */

const toolCount = 50;
const rounds = 7;
const root = new URL("../../../", import.meta.url);
const compilers = ["typescript", "typescript-7"].map((name) => {
  const manifest = fileURLToPath(new URL(`node_modules/${name}/package.json`, root));
  /** @type {{ version: string }} */
  const { version } = createRequire(import.meta.url)(manifest);
  return { version, program: join(dirname(manifest), "bin/tsc") };
});

/** @param {number} index */
function toolSource(index) {
  return `const tool${index} = defineTool({
  name: "tool_${index}",
  description: "Tool ${index}",
  inputSchema: z.object({ id${index}: z.string(), page: z.number().default(1), tags: z.array(z.enum(["a", "b"])).optional() }),
  execute: async ({ id${index}, page }, { context }: ToolContext<{ readonly user: string }>) =>
    ({ id${index}, page, by: context.user, rows: [{ at: new Date(), note: id${index} as string | undefined }] }),
});`;
}

/**
 * With types, the program also reads the result of one call and one event, because the compiler computes types when they are
 * needed.
 *
 * @param {boolean} isTyped
 */
function programSource(isTyped) {
  const numbers = Array.from({ length: toolCount }, (_, index) => index);
  const names = numbers.map((index) => `tool${index}`).join(", ");
  const use = isTyped
    ? `const tools = [${names}];
const { calls } = await runToolLoop({ provider, tools, messages: [], context: { user: "Ada" } });
for (const call of calls) if (call.name === "tool_7" && call.outcome === "completed") console.log(call.args.id7, call.result.by);
for (const call of calls) if (isCallOf(tool8, call) && call.outcome === "completed") console.log(call.result.rows[0]?.at);
for await (const event of streamToolLoop({ provider, tools, messages: [], context: { user: "Ada" } }))
  if (event.type === "tool-end" && isCallOf(tool9, event) && event.outcome === "completed") console.log(event.result.id9);`
    : `const tools: readonly Tool[] = [${names}];
const { calls } = await runToolLoop({ provider, tools, messages: [], context: { user: "Ada" } });
for (const call of calls) if (call.name === "tool_7" && call.outcome === "completed") console.log(call.args, call.result);
for await (const event of streamToolLoop({ provider, tools, messages: [], context: { user: "Ada" } }))
  if (event.type === "tool-end" && event.outcome === "completed") console.log(event.result, isCallOf);`;
  return `import { defineTool, isCallOf, type Provider, runToolLoop, streamToolLoop, type Tool, type ToolContext } from "turnwright";
import { z } from "zod";
declare const provider: Provider;
export type Used = Tool;
${numbers.map(toolSource).join("\n")}
${use}
`;
}

/**
 * Returns the CPU time of one compilation in milliseconds. The shell reports it, even for compilers that start another process.
 *
 * @param {string} program
 * @param {string} folder
 */
function compile(program, folder) {
  const script = '"$0" "$1" -p "$2" && times';
  const output = execFileSync("sh", ["-c", script, process.execPath, program, folder], { encoding: "utf8" });
  const spent = [
    ...output
      .trim()
      .split("\n")
      .slice(-1)
      .join("")
      .matchAll(/(\d+)m([\d.]+)s/g),
  ];
  if (spent.length !== 2) throw new Error(`The shell reported no times:\n${output}`);
  return spent.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1_000, 0);
}

/** @param {boolean} isTyped */
function createProject(isTyped) {
  const folder = mkdtempSync(fileURLToPath(new URL("bench/.types-", root)));
  writeFileSync(join(folder, "program.ts"), programSource(isTyped));
  const paths = { turnwright: [fileURLToPath(new URL("dist/index.d.ts", root))] };
  const compilerOptions = {
    ...{ target: "es2022", module: "preserve", moduleResolution: "bundler", strict: true, exactOptionalPropertyTypes: true },
    ...{ noEmit: true, skipLibCheck: true, lib: ["es2022", "dom", "dom.asynciterable"], types: [], paths },
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  return folder;
}

const plain = createProject(false);
const typed = createProject(true);
try {
  /** @type {Row[]} */
  const rows = compilers.map(({ version, program }) => {
    /** @type {number[]} */
    const without = [];
    /** @type {number[]} */
    const within = [];
    for (let round = 0; round < rounds; round += 1) {
      without.push(compile(program, plain));
      within.push(compile(program, typed));
    }
    // Takes the shortest time, because other programs on the machine can only make it longer.
    const minimal = Math.min(...without);
    return {
      workload: `TypeScript ${version}: ${toolCount} tools in one run`,
      unit: "ms",
      minimal,
      turnwright: Math.min(...within),
      target: { of: "turnwright", atMost: minimal + 1_000 },
    };
  });
  process.send?.(rows, () => process.exit(0));
} finally {
  for (const folder of [plain, typed]) rmSync(folder, { recursive: true });
}
