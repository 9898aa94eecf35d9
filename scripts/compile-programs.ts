// Compiles the examples and the programs that tests start. Otherwise tsx compiles them again in every process, which costs more
// processor time than most of these programs.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { entries } from "./entries.ts";
import { findFiles } from "./find-files.ts";

/**
 * Sets the variable PROGRAM_LOADER: `node --import` with its value runs a file of this repository, which then imports one bundle of the
 * entries. Returns a function that removes the compiled files.
 */
export async function compilePrograms(): Promise<() => void> {
  mkdirSync(".cache", { recursive: true });
  const folder = mkdtempSync(resolve(".cache/programs-"));
  const options = { format: "esm", platform: "node", target: "node20", packages: "external", logLevel: "warning" } as const;
  const files = ["examples", "scripts", "src", "test"].flatMap((root) => findFiles(root, ".ts"));
  await Promise.all([
    build({
      ...options,
      entryPoints: Object.fromEntries(entries.map(({ name, source }) => [name, source])),
      outdir: join(folder, "entries"),
      bundle: true,
      splitting: true,
    }),
    build({
      format: options.format,
      target: options.target,
      logLevel: options.logLevel,
      entryPoints: files.filter((path) => !path.endsWith(".test.ts")),
      outdir: join(folder, "files"),
      outbase: ".",
    }),
  ]);
  const urls = entries.map(({ name, specifier }) => [specifier, pathToFileURL(join(folder, "entries", `${name}.js`)).href]);
  writeFileSync(join(folder, "entries.json"), JSON.stringify(Object.fromEntries(urls)));
  process.env["PROGRAM_LOADER"] = pathToFileURL(join(folder, "files/scripts/load-programs.js")).href;
  return () => {
    delete process.env["PROGRAM_LOADER"];
    rmSync(folder, { recursive: true, force: true });
  };
}
