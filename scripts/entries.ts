// Reads the published entries from `paths` in tsconfig.json, the only place that lists them.

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
