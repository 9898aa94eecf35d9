import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { findDeadLinks } from "../../site/dead-links.ts";

function build(files: { readonly [path: string]: string }): string {
  const folder = mkdtempSync(join(tmpdir(), "site-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "guides"));
  for (const [path, html] of Object.entries(files)) writeFileSync(join(folder, path), html);
  return folder;
}

it("findDeadLinks: accepts links to files, folders and headings, with any base", () => {
  const folder = build({
    "index.html": '<a href="/base/guides/a.html#part">A</a><a href="https://other.example/x">X</a>',
    "guides/a.html":
      '<h2 id="part"><a href="#part"></a></h2><a class="x" href="/base/">home</a><img src="../p.svg"><a href="/base/p.svg#x">P</a>',
    "p.svg": "",
  });
  expect(findDeadLinks(folder, "/base/")).toEqual([]);
});

it("findDeadLinks: names the page and the target of a dead link", () => {
  const folder = build({
    "index.html": '<a href="/guides/b.html">B</a><img src="/q.svg"><a href="/guides/a.html#part">A</a><a href="#top">top</a>',
    "guides/a.html": "",
  });
  expect(findDeadLinks(folder, "/").map((problem) => problem.replaceAll(folder, "site"))).toEqual([
    "site/index.html: /guides/b.html: there is no site/guides/b.html",
    "site/index.html: /q.svg: there is no site/q.svg",
    "site/index.html: /guides/a.html#part: site/guides/a.html has no heading with this anchor",
    "site/index.html: #top: site/index.html has no heading with this anchor",
  ]);
});

it("findDeadLinks: names a link that leaves the site's base", () => {
  const folder = build({ "index.html": '<a href="/guides/a.html">A</a><a href="guides/a.html">A</a>', "guides/a.html": "" });
  expect(findDeadLinks(folder, "/base/").map((problem) => problem.replaceAll(folder, "site"))).toEqual([
    "site/index.html: /guides/a.html: is not below /base/",
  ]);
});
