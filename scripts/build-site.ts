// Builds the site into site/dist: collects its pages, lets VitePress render them, and adds the reference and the playground. Fails if a
// link of the built site leads nowhere. `--no-reference` leaves the reference out, which TypeDoc builds.

import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bundlePlayground } from "../site/bundle-playground.ts";
import { collectPages } from "../site/pages.ts";
import { findDeadLinks } from "../site/dead-links.ts";
import { reportProblems } from "./report-problems.ts";

// The playground shows the page of turnwright/inspect, which is built and not in the repository.
await import("./build-page.ts");

const pages = "site/.pages";
const dist = "site/dist";
const tools = "site/node_modules";
const hasReference = !process.argv.includes("--no-reference");

if (!existsSync(tools)) throw new Error("The tools of the site are not installed. Run `npm ci --prefix site` first.");

function run(program: string, parameters: readonly string[]): void {
  const { status } = spawnSync(process.execPath, [program, ...parameters], { stdio: "inherit" });
  if (status !== 0) throw new Error(`${program} ended with ${status}.`);
}

rmSync(pages, { recursive: true, force: true });
rmSync(dist, { recursive: true, force: true });
const { texts, copies, sidebar } = collectPages();
const place = (path: string): string => {
  mkdirSync(dirname(join(pages, path)), { recursive: true });
  return join(pages, path);
};
for (const [path, text] of texts) writeFileSync(place(path), text);
for (const [path, from] of copies) copyFileSync(from, place(path));
copyFileSync("llms.txt", place("public/llms.txt"));

// The pages link to headings of the summary that it does not have.
if (hasReference)
  run("node_modules/typedoc/bin/typedoc", ["--out", `${pages}/public/reference`, "--includeHierarchySummary", "false"]);
for (const [name, text] of await bundlePlayground()) writeFileSync(place(`public/playground/${name}`), text);
writeFileSync(place("nav.json"), JSON.stringify({ sidebar, hasReference }));

run(`${tools}/vitepress/bin/vitepress.js`, ["build", "site"]);
reportProblems(findDeadLinks(dist));
