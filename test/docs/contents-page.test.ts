import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { readPage } from "./read-page.ts";

const contents = readPage("docs/README.md");
const links = new Set(Array.from(contents.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g), ([, target = ""]) => target));
const pages = readdirSync(new URL("../../docs", import.meta.url), { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".md") && path !== "README.md" && !/^(sources|reference)\//.test(path))
  .sort();

it.for(pages)("docs/README.md: links to docs/%s", (page) => {
  expect(links).toContain(page);
});

it.for(pages.filter((page) => page.startsWith("decisions/")))(
  "docs/README.md: shows the title of docs/%s in the link",
  (page) => {
    const title = /^# \d+\. (.+)$/m.exec(readPage(`docs/${page}`))?.[1];
    expect(contents).toContain(`: [${title}](${page})`);
  },
);
