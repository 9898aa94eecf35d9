// Measures how much each entry adds to a bundle, and the loop without the rest of its entry, minified and compressed with gzip. A size
// includes everything that is imported, except peer dependencies and parts that are loaded later with `import()`. `--write` sets the
// budget of a new entry to its size plus 10%.

import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type Metafile } from "esbuild";
import { entries } from "./entries.ts";
import { readJson } from "./read-json.ts";
import { reportProblems } from "./report-problems.ts";

const budgetsFile = "scripts/size-budgets.json";

/** The maximum size of each entry in bytes, by import specifier. */
type Budgets = { readonly [specifier: string]: number | undefined };

const budgets = readJson<Budgets>(budgetsFile);
const peers = Object.keys(readJson<{ readonly peerDependencies: object }>("package.json").peerDependencies);

/** A program that runs the loop, and needs nothing else. */
const smallest = 'export { defineTool, runToolLoop } from "./dist/index.js";';

/** The features of entries that have several, each as the only one of a program: a bundle must not contain the others. */
const features = {
  middleware: [
    "compactMessages",
    "createDeliberateMode",
    "createHandoffs",
    "createTeam",
    "guardrails",
    "partialOutputs",
    "watchPromptCache",
    "withPlanner",
    "withToolSearch",
  ],
  observe: ["diagnostics", "recordSpans", "tracing"],
};

async function measure(source: string): Promise<number> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: source, resolveDir: ".", sourcefile: "program.js" },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    splitting: true,
    outdir: ".",
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    target: "es2022",
    external: ["node:*", ...peers],
  });
  const loaded = findLoaded("stdin.js", metafile);
  return outputFiles
    .filter(({ path }) => loaded.has(relative(".", path)))
    .reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0);
}

/** Follows static imports only. */
function findLoaded(file: string, { outputs }: Metafile): ReadonlySet<string> {
  const loaded = new Set([file]);
  for (const path of loaded) {
    for (const { path: imported, kind, external } of outputs[path]?.imports ?? [])
      if (kind === "import-statement" && external !== true) loaded.add(imported);
  }
  return loaded;
}

const programs = [
  ...entries.map(({ name, specifier }) => ({ specifier, source: `export * from "./dist/${name}.js";` })),
  { specifier: "turnwright: runToolLoop, defineTool", source: smallest },
  ...Object.entries(features).flatMap(([entry, names]) =>
    names.map((name) => ({
      specifier: `turnwright/${entry}: ${name}`,
      source: `export { ${name} } from "./dist/${entry}.js";`,
    })),
  ),
];

const measured = await Promise.all(
  programs.map(async ({ specifier, source }) => ({ specifier, bytes: await measure(source), budget: budgets[specifier] })),
);

if (process.argv.includes("--write")) {
  const tenthMore = measured.map(({ specifier, bytes, budget }) => [specifier, budget ?? Math.ceil((bytes * 1.1) / 100) * 100]);
  writeFileSync(budgetsFile, `${JSON.stringify(Object.fromEntries(tenthMore), null, 2)}\n`);
} else {
  for (const { specifier, bytes, budget } of measured) console.log(`${specifier}: ${bytes} bytes of ${budget ?? "no budget"}`);
  reportProblems(
    measured
      .filter(({ bytes, budget }) => budget === undefined || bytes > budget)
      .map(({ specifier, bytes, budget }) =>
        budget === undefined
          ? `${specifier} has no budget in ${budgetsFile}; \`npm run entries\` after a build writes one.`
          : `${specifier} weighs ${bytes} bytes, over its budget of ${budget}.`,
      ),
  );
}
