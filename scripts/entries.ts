// The published entries, read from the one place that lists them: `paths` in tsconfig.json.

import { readJson } from "./read-json.ts";

/** One thing that users import. */
export interface Entry {
  /** The specifier in an import, such as "turnwright/openai". */
  readonly specifier: string;
  /** Its key in the `exports` of package.json, such as "./openai". */
  readonly subpath: string;
  /** The name of its file in dist, without an ending. */
  readonly name: string;
  /** Its source file, from the root. */
  readonly source: string;
}

interface TsConfig {
  readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly [source: string]>> };
}

const { compilerOptions } = readJson<TsConfig>("tsconfig.json");

/** Every published entry, the core first. */
export const entries: readonly Entry[] = Object.entries(compilerOptions.paths).map(([specifier, [source]]) => {
  const subpath = specifier.replace(/^turnwright/, ".");
  return { specifier, subpath, name: subpath === "." ? "index" : subpath.slice(2), source: source.replace(/^\.\//, "") };
});
