// Reads the published entries from `paths` in tsconfig.json, the only place that lists them.

import { readFileSync } from "node:fs";
import { readJson } from "./read-json.ts";

export interface Entry {
  /** The import specifier, such as "turnwright/openai". */
  readonly specifier: string;
  /** The key in `exports` of package.json, such as "./openai". */
  readonly subpath: string;
  /** The name of the built file in dist, without extension. */
  readonly name: string;
  /** The path of the source file, relative to the repository. */
  readonly source: string;
}

interface TsConfig {
  readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly [source: string]>> };
}

const { compilerOptions } = readJson<TsConfig>("tsconfig.json");

/** The core entry is first. */
export const entries: readonly Entry[] = Object.entries(compilerOptions.paths).map(([specifier, [source]]) => {
  const subpath = specifier.replace(/^turnwright/, ".");
  return { specifier, subpath, name: subpath === "." ? "index" : subpath.slice(2), source: source.replace(/^\.\//, "") };
});

/** The files of entries with several features that export something. The build compiles each as an entry, so that it gets files of its own. */
export const features: readonly Pick<Entry, "name" | "source">[] = ["middleware", "observe"].flatMap(readFeatures);

function readFeatures(entry: string): readonly Pick<Entry, "name" | "source">[] {
  const files = readFileSync(`src/${entry}/index.ts`, "utf8").matchAll(/ from "\.\/([^"]+)\.ts";/g);
  const paths = new Set([...files].map(([, path = ""]) => path));
  return [...paths].map((path) => ({ name: `${entry}-${path.replace("/", "-")}`, source: `src/${entry}/${path}.ts` }));
}
