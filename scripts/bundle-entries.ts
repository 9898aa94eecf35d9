// Bundles the sources of the entries, for programs that start many processes. Without a bundle, tsx compiles each source file again
// in every process, which costs 0.3 seconds.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { entries } from "./entries.ts";

/** Afterwards, programs that this process starts with tsx import the bundle. Returns a function that removes the bundle. */
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
