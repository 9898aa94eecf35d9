// Runs the demo, and draws its first and last lines for the README. Writes docs/demo.svg. Run this script with `npm run
// demo:picture`.

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";

const firstParts = 6;
const lineHeight = 20;
const margin = 20;

const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", "examples/explore-repository/main.ts"], {
  encoding: "utf8",
  env: { ...process.env, OPENAI_API_KEY: "", ANTHROPIC_API_KEY: "" },
});
if (status !== 0) throw new Error(`The demo failed:\n${stderr}`);

const page = /file:\S+\/turnwright-demo-[^/]+/g;
const parts = stdout.replaceAll(process.cwd(), "turnwright").replaceAll(page, "file:///tmp/turnwright-demo").trim().split("\n\n");
const shown = [...parts.slice(0, firstParts), "...", ...parts.slice(-2)].join("\n\n").split("\n");
const height = shown.length * lineHeight + 2 * margin;

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const rows = shown.map((line, index) => `<text x="${margin}" y="${margin + (index + 0.75) * lineHeight}">${escape(line)}</text>`);
writeFileSync(
  "docs/demo.svg",
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 ${height}" role="img" aria-label="The demo in a terminal">
<rect width="860" height="${height}" rx="8" fill="#16181d"/>
<g fill="#d7dae0" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">
${rows.join("\n")}
</g>
</svg>
`,
);
