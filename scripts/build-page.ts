// Builds the page of turnwright/inspect: src/inspect/page/template.js holds the HTML with its scripts and styles.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const folder = "src/inspect/ui";

const { outputFiles } = await build({
  entryPoints: [`${folder}/main.tsx`],
  bundle: true,
  write: false,
  outdir: "page",
  minify: true,
  format: "esm",
  platform: "browser",
  target: "es2022",
  external: ["node:*"],
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
});

function outputOf(extension: string): string {
  const text = outputFiles.find(({ path }) => path.endsWith(extension))?.text.trim() ?? "";
  // In a script element, "</script" would end the script, and "<!--" would change how the browser finds the end.
  return text.replaceAll("</script", "<\\/script").replaceAll("<!--", "\\x3c!--");
}

const hashOf = (text: string): string => `sha256-${createHash("sha256").update(text).digest("base64")}`;

const script = outputOf(".js");
const style = outputOf(".css");
const parts: readonly (readonly [place: string, content: string])[] = [
  ["script-hash", hashOf(script)],
  ["style-hash", hashOf(style)],
  ["<style></style>", `<style>${style}</style>`],
  ['<script type="module"></script>', `<script type="module">${script}</script>`],
];
const html = parts.reduce(
  (page, [place, content]) => {
    if (!page.includes(place)) throw new Error(`${folder}/page.html has no ${place}.`);
    return page.replace(place, () => content);
  },
  readFileSync(`${folder}/page.html`, "utf8"),
);

// The build and the tests may write the page at the same time, and others may read it meanwhile.
mkdirSync(".cache", { recursive: true });
const draft = `.cache/template-${process.pid}.js`;
writeFileSync(draft, `export const template = ${JSON.stringify(html)};\n`);
renameSync(draft, "src/inspect/page/template.js");
console.log(`The page without logs: ${(gzipSync(html).length / 1000).toFixed(1)} KB gzip.`);
