import { readFileSync } from "node:fs";
import { defineConfig } from "vitepress";
import { anchorOf } from "../../scripts/heading-anchors.ts";

const nav = JSON.parse(readFileSync(new URL("../.pages/nav.json", import.meta.url), "utf8"));

export default defineConfig({
  title: "turnwright",
  description: "The tool loop for LLMs: it always ends, says why, loses nothing and resumes anywhere.",
  srcDir: ".pages",
  outDir: "dist",
  // A site of GitHub Pages is in a folder of its name.
  base: process.env["SITE_BASE"] ?? "/",
  // Programs of the guides print such links. All other dead links fail the build, also those to headings (site/dead-links.ts).
  ignoreDeadLinks: "localhostLinks",
  lastUpdated: false,
  markdown: { anchor: { slugify: anchorOf } },
  themeConfig: {
    search: { provider: "local" },
    outline: { level: [2, 3] },
    nav: [
      { text: "Quick start", link: "/quick-start" },
      { text: "Tutorial", link: "/tutorial/1-answer" },
      { text: "Guides", link: "/contents" },
      { text: "Playground", link: "/playground/", target: "_self" },
      ...(nav.hasReference ? [{ text: "API", link: "/reference/", target: "_self" }] : []),
    ],
    sidebar: nav.sidebar,
  },
});
