// Lets Node run programs that scripts/compile-programs.ts has compiled: `node --import` loads the compiled form of this file. A process
// starts in a fraction of the processor time that it takes with tsx. Errors name the lines of the compiled files; tsx names those of the
// sources.

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { type LoadHook, register, type ResolveHook } from "node:module";
import { isMainThread } from "node:worker_threads";

/** The folder of the compiled files. Each has the path of its source, with ".js" at its end. */
const compiled = new URL("../", import.meta.url);
const sources = new URL("../../../", compiled).href;

// Node runs the hooks below in a thread of their own, which loads this file too.
if (isMainThread) register(import.meta.url);

const entries = new Map(Object.entries(JSON.parse(readFileSync(new URL("../entries.json", compiled), "utf8")) as object));

export const resolve: ResolveHook = (specifier, context, next) => {
  const url: unknown = entries.get(specifier);
  return typeof url === "string" ? { url, shortCircuit: true } : next(specifier, context);
};

export const load: LoadHook = async (url, context, next) => {
  if (!url.startsWith(sources) || !url.endsWith(".ts")) return next(url, context);
  const path = url.slice(sources.length).replace(/\.ts$/, ".js");
  return { format: "module", source: await readFile(new URL(path, compiled)), shortCircuit: true };
};
