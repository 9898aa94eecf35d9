// Builds the code in dist: each entry as ESM and CommonJS. scripts/build-types.ts adds the types.

import { rmSync } from "node:fs";
import type { Options } from "tsup";
import { entries, features } from "./scripts/entries.ts";
import { followExports } from "./scripts/follow-exports.ts";
import { joinChunks } from "./scripts/join-chunks.ts";

async function finish(): Promise<void> {
  await joinChunks("dist");
  // The program is no module to import, so it has one form only.
  rmSync("dist/cli.cjs");
}

const config: Options = {
  entry: { ...Object.fromEntries([...entries, ...features].map(({ name, source }) => [name, source])), cli: "src/cli/main.ts" },
  // `joinChunks` also writes CommonJS.
  format: "esm",
  target: "es2022",
  clean: true,
  onSuccess: finish,
  esbuildPlugins: [followExports],
  // Without it, every entry would get its own copy of each class and each WeakMap.
  splitting: true,
  // THIRD-PARTY-LICENSES.txt has them.
  esbuildOptions: (options) => {
    options.legalComments = "none";
  },
  // Deno and workers know Node's modules by their "node:" names only.
  removeNodeProtocol: false,
  // p-timeout has no CommonJS: left outside, `require` of this package breaks when the first tool is called. eventemitter3 has nothing
  // else: left outside, Node takes 6 ms longer to import this package. Its types stay outside.
  // re2js and @cfworker/json-schema go into the entries that check schemas: a pattern has to run in linear time whatever is installed.
  // json-p3 goes into turnwright/cache, which replaces some of its functions.
  // minisearch and fastest-levenshtein are small, so the package needs no further installation.
  noExternal: ["p-timeout", "eventemitter3", "re2js", "@cfworker/json-schema", "json-p3", "minisearch", "fastest-levenshtein"],
};

export default config;
