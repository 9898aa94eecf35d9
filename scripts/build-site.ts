// Builds the site into site/dist: collects its pages, writes the reference, and lets VitePress render them. Fails if a link of the built
// site leads nowhere. `--no-reference` leaves the reference out, which takes most of the time.

import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { collectPages } from "../site/pages.ts";
import { findDeadLinks } from "../site/dead-links.ts";
import type { SidebarGroup } from "../site/sidebar.ts";
import { entries } from "./entries.ts";
import { reportProblems } from "./report-problems.ts";

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

/** Writes the reference, and returns its part of the sidebar. */
function writeReference(): SidebarGroup {
  run("node_modules/typedoc/bin/typedoc", ["--options", "site/typedoc.config.mjs"]);
  const named = entries.map(({ specifier, source }) => ({ specifier, name: source.replace(/^src\/(.*?)(\/index)?\.ts$/, "$1") }));
  const index = readFileSync(`${pages}/reference/index.md`, "utf8");
  // TypeDoc calls an entry by its folder.
  writeFileSync(
    `${pages}/reference/index.md`,
    named
      .reduce((text, { specifier, name }) => text.replace(`[${name}](`, `[${specifier}](`), index)
      .replace("# turnwright", "# API"),
  );
  for (const { specifier, name } of named) {
    const path = `${pages}/reference/${name}.md`;
    writeFileSync(path, readFileSync(path, "utf8").replace(`# ${name}\n`, `# ${specifier}\n`));
  }
  return {
    text: "API",
    collapsed: true,
    items: named.map(({ specifier, name }) => ({ text: specifier, link: `/reference/${name}` })),
  };
}

const groups = hasReference ? [...sidebar, writeReference()] : sidebar;
const top = hasReference ? [{ text: "API", link: "/reference/" }] : [];
writeFileSync(place("nav.json"), JSON.stringify({ sidebar: groups, top }));

run(`${tools}/vitepress/bin/vitepress.js`, ["build", "site"]);
reportProblems(findDeadLinks(dist));
