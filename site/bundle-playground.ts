// Bundles the playground: the page, and the entries that its programs import by name.

import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { build, type Plugin } from "esbuild";
import { renderLivePage } from "../src/inspect/page/render-run-page.ts";

const folder = "site/playground";

/** The files of the playground, by their names. */
export type PlaygroundFiles = ReadonlyMap<string, string>;

/**
 * The log of a run can be written to a file, so its modules import those of Node. In a page it is written to a sink, which uses the hash
 * alone.
 */
const nodeModules: { readonly [name: string]: string } = {
  "node:crypto": `export { createHash } from "./${folder}/create-hash.ts";`,
  "node:fs":
    "export const constants = {}; export const [closeSync, fchmodSync, fstatSync, ftruncateSync, lstatSync, mkdirSync, openSync, readlinkSync, readSync, writeSync, createReadStream, realpathSync, statSync] = [];",
  "node:fs/promises": "export const [open] = [];",
  "node:path": "export const [dirname, resolve, isAbsolute, join, parse, sep] = [];",
  "node:string_decoder": "export const [StringDecoder] = [];",
};

const withoutNode: Plugin = {
  name: "without-node",
  setup({ onResolve, onLoad }) {
    // An entry that programs import must not need Node, so only the modules of the run log get these.
    // An entry that programs import must not need Node, so only the modules of the run log get these. A function that needs Node imports
    // its modules when it is called.
    onResolve({ filter: /^node:/ }, ({ path, importer, kind }) => {
      if (kind === "dynamic-import") return { path, external: true };
      const isLog = /\/src\/(inspect\/log|shared\/file-trust)/.test(importer.replaceAll("\\", "/"));
      return isLog ? { path, namespace: "without-node" } : null;
    });
    onLoad({ filter: /.*/, namespace: "without-node" }, ({ path }) => ({ contents: nodeModules[path] ?? "", resolveDir: "." }));
  },
};

const withoutEditor: Plugin = {
  name: "without-editor",
  setup({ onLoad }) {
    onLoad({ filter: /playground\/editor\.ts$/ }, () => ({ contents: "export const replaceByEditor = () => {};" }));
  },
};

/** Without the packages of the site, the page has a plain text field instead of an editor. */
export async function bundlePlayground(
  hasEditor: boolean = existsSync("site/node_modules/codemirror"),
): Promise<PlaygroundFiles> {
  const { outputFiles } = await build({
    entryPoints: {
      page: `${folder}/page.tsx`,
      turnwright: "src/core/index.ts",
      middleware: "src/middleware/index.ts",
      testing: "src/testing/index.ts",
    },
    outdir: "playground",
    bundle: true,
    // The page and the programs share one copy of each module.
    splitting: true,
    write: false,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    define: { PROGRAM: JSON.stringify(readFileSync(`${folder}/program.js`, "utf8")) },
    legalComments: "none",
    logLevel: "warning",
    plugins: hasEditor ? [withoutNode] : [withoutNode, withoutEditor],
  });
  const bundled = outputFiles.map(({ path, text }): [string, string] => [basename(path), text]);
  const copied = ["index.html", "page.css"].map((name): [string, string] => [name, readFileSync(`${folder}/${name}`, "utf8")]);
  return new Map([...copied, ...bundled, ["run.html", await renderFrame()]]);
}

/** Returns the page of a run, which gets its log from the playground. The script must come before the policy of the page. */
async function renderFrame(): Promise<string> {
  const page = await renderLivePage([{ name: "run", url: "log" }]);
  return page.replace("<head>", "<head><script>globalThis.fetch = async (url) => parent.openLog(url);</script>");
}
