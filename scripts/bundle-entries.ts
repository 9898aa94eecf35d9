// Bundles the sources of the entries, for programs that run in many processes. Loading each source file with tsx would take each
// process 0.3 seconds of processor time.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { entries } from "./entries.ts";

/** Bundles the entries. Programs that this process then starts with tsx import the bundle. Returns a function that removes it. */
export async function bundleEntries(): Promise<() => void> {
  mkdirSync(".cache", { recursive: true });
  const folder = mkdtempSync(resolve(".cache/entries-"));
  await build({
    entryPoints: Object.fromEntries(entries.map(({ name, source }) => [name, source])),
    outdir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    logLevel: "warning",
  });
  const paths = Object.fromEntries(entries.map(({ name, specifier }) => [specifier, [join(folder, `${name}.js`)]]));
  const config = join(folder, "tsconfig.json");
  writeFileSync(config, JSON.stringify({ extends: resolve("tsconfig.json"), compilerOptions: { paths } }));
  process.env["TSX_TSCONFIG_PATH"] = config;
  return () => {
    delete process.env["TSX_TSCONFIG_PATH"];
    rmSync(folder, { recursive: true, force: true });
  };
}
