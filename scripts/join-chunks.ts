// Joins the chunks of the build that several entries share, so that an import opens few files. Each file costs Node about half a
// millisecond. Chunks that small entries share are kept separate from chunks that only the loop needs.

import { readdirSync, rmSync } from "node:fs";
import { basename, resolve } from "node:path";
import { type GetModuleInfo, type Plugin, rollup } from "rollup";
import { entries } from "./entries.ts";

/** The entries that import the whole loop. */
const whole: ReadonlySet<string> = new Set([
  "index",
  "testing",
  "middleware",
  "conversation",
  "evals",
  "host",
  "dbos",
  "restate",
  "cli",
  "journal",
  "inspect",
]);

/** The files of entries. Other files of the build, which entries load later, have a hash in their names. */
const known: ReadonlySet<string> = new Set(["cli", ...entries.map(({ name }) => name)]);
const isChunk = (file: string): boolean => !known.has(file.replace(/\.c?js$/, ""));

/** Follows imports to any depth. The result includes the given files. */
function reach(files: readonly string[], getModuleInfo: GetModuleInfo): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [...files];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    waiting.push(...(getModuleInfo(file)?.importedIds ?? []));
  }
  return found;
}

/** The calls with which esbuild loads a package that has CommonJS only. */
const loading = /(?<== )(?=__(?:commonJS|toESM)\()|(?<=__toESM\()(?=require_\w+\(\))/g;

/** Marks these calls as pure. Without the mark, the bundle of a program contains the package even if nothing uses it. */
const markPure: Plugin = {
  name: "mark-pure",
  transform: (code) => ({ code: code.replace(loading, "/* @__PURE__ */ "), map: null }),
};

/** Only names the exports of the entry `turnwright`, because a bundle includes all code next to the names. */
const facade = "\0facade";

/**
 * Marks the calls at the end of the entry `turnwright` as pure, after the tree was shaken: Node runs them, and a bundler leaves them
 * out, with all that only they need.
 */
const markEnabling: Plugin = {
  name: "mark-enabling",
  renderChunk: (code) => ({
    code: code.replace(/^(?=(?:explainErrors|enableJournals)\(\);$)/gm, "/* @__PURE__ */ "),
    map: null,
  }),
};

/** The command, and the entries whose functions check options and that programs import without `turnwright`. */
const explained: ReadonlySet<string> = new Set([
  "cli",
  "testing",
  "conversation",
  "evals",
  "host",
  "dbos",
  "restate",
  "journal",
  "inspect",
]);

/**
 * Lets these entries explain errors in Node, as `turnwright` does. The sources do not import `explainErrors`: esbuild would then share
 * its code between chunks in another way, and bundles that leave it out would grow by 2 KB.
 */
const explainEntries: Plugin = {
  name: "explain-entries",
  transform: (code, id) =>
    explained.has(basename(id, ".js"))
      ? {
          code: code.replace(/^(#!.*\n)?/, '$1import { explainErrors } from "./index.js";\n') + "\nexplainErrors();\n",
          map: null,
        }
      : undefined,
};

/** Joins the chunks of the ESM build in a directory. Writes the result as ESM and as CommonJS. */
export async function joinChunks(directory: string): Promise<void> {
  const files = readdirSync(directory).filter((file) => file.endsWith(".js"));
  const names = files.filter((file) => !isChunk(file)).map((file) => file.slice(0, -".js".length));
  const pathOf = (name: string): string => resolve(directory, `${name}.js`);
  const bundle = await rollup({
    input: Object.fromEntries(names.map((name) => [name, name === "index" ? facade : pathOf(name)])),
    external: (id) => !id.startsWith(".") && !id.startsWith("/"),
    treeshake: { moduleSideEffects: false },
    plugins: [
      markPure,
      markEnabling,
      explainEntries,
      {
        name: "facade",
        resolveId: (id) => (id === facade ? id : undefined),
        load: (id) => (id === facade ? `export * from ${JSON.stringify(pathOf("index"))};` : undefined),
      },
    ],
  });
  let groups:
    | { readonly core: ReadonlySet<string>; readonly shared: ReadonlySet<string>; readonly features: ReadonlySet<string> }
    | undefined;
  const outputs = [
    { format: "esm", ending: "js" },
    { format: "cjs", ending: "cjs" },
  ] as const;
  const old = readdirSync(directory).filter((file) => isChunk(file) && /\.c?js$/.test(file));
  for (const { format, ending } of outputs) {
    await bundle.write({
      dir: directory,
      format,
      interop: "auto",
      hoistTransitiveImports: false,
      entryFileNames: `[name].${ending}`,
      chunkFileNames: `shared-[hash].${ending}`,
      manualChunks(id, { getModuleInfo }) {
        groups ??= {
          core: reach([pathOf("index")], getModuleInfo),
          shared: reach(names.filter((name) => !whole.has(name)).map(pathOf), getModuleInfo),
          features: reach([pathOf("middleware")], getModuleInfo),
        };
        // A bundle leaves out whole files, but not all code of a file that it uses. Each feature has files of its own.
        if (!groups.core.has(id)) return groups.features.has(id) && id !== pathOf("middleware") ? basename(id, ".js") : undefined;
        return id === pathOf("index") ? "entry" : groups.shared.has(id) ? "shared" : "core";
      },
    });
  }
  await bundle.close();
  for (const file of old) rmSync(resolve(directory, file));
}
