import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { changeLinks } from "../../site/links.ts";
import { collectPages } from "../../site/pages.ts";
import { readSidebar } from "../../site/sidebar.ts";

const { texts, copies, sidebar } = collectPages();
const docs = readdirSync(new URL("../../docs", import.meta.url), { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".md") && path !== "README.md" && !/^(sources|reference)\//.test(path));

describe("the documentation site", () => {
  it.for(docs)("lists docs/%s in exactly one group of the sidebar", (page) => {
    const links = sidebar.flatMap(({ items }) => items.map(({ link }) => link));
    expect(links.filter((link) => link === `/${page.replace(/\.md$/, "")}`)).toHaveLength(1);
  });

  it("keeps a page's path relative to docs, and links the page to other pages on the site", () => {
    const page = texts.get("tutorial/1-answer.md");
    expect(page).toContain("[Providers](../guides/providers.md)");
    expect(page).toContain("[the model looks up an order](./2-tool.md)");
  });

  it("turns a linked example into a page with its code, and excludes this page from the search", () => {
    expect(texts.get("guides/approvals-and-gates.md")).toContain("(../source/examples/approval-inbox/inbox.ts.md)");
    const page = texts.get("source/examples/approval-inbox/inbox.ts.md");
    expect(page).toContain("search: false");
    expect(page).toContain("````ts\n//");
  });

  it("gives the README and the contents page their own addresses", () => {
    expect(texts.get("quick-start.md")).toContain("](./contents.md)");
    expect(texts.get("contents.md")).toContain("](./guides/providers.md)");
  });

  it("copies pictures to the paths that their pages link to", () => {
    expect(texts.get("index.md")).toContain("](./promises/goes-on.svg)");
    expect(copies.get("promises/goes-on.svg")).toBe("docs/promises/goes-on.svg");
  });
});

describe("the sidebar", () => {
  const titleOf = (path: string): string => `Title of ${path}`;
  const routeOf = (path: string): string | undefined => (path === "docs/llms.md" ? undefined : `/${path}`);

  it("puts a page into the list that names it, or otherwise into the first task group that links to it", () => {
    const contents = `Read [one](tutorial/1.md), then [a](guides/a.md).

## I want to ...

### Start

| Task | Page |
|---|---|
| do a | [A](guides/a.md), [B](guides/b.md#part) |

### End

[A](guides/a.md) [C](guides/c.md) [llms](llms.md)

## Reference

- [B](guides/b.md)
`;
    const groups = readSidebar(contents, titleOf, routeOf).map(({ text, items }) => [text, ...items.map(({ link }) => link)]);
    expect(groups).toEqual([
      ["Tutorial", "/docs/tutorial/1.md"],
      ["Start", "/docs/guides/a.md"],
      ["End", "/docs/guides/c.md"],
      ["Reference", "/docs/guides/b.md"],
    ]);
  });
});

describe("changeLinks", () => {
  const change = (page: string): string => changeLinks(page, (target) => `<${target}>`);

  it.for([
    ["[a](b.md#c) and ![p](q.svg)", "[a](<b.md#c>) and ![p](<q.svg>)"],
    ['[a](b.md "title") [`code`](d.md)', '[a](<b.md> "title") [`code`](<d.md>)'],
    ["[ref]: b.md", "[ref]: <b.md>"],
    ['<img src="q.svg">', '<img src="<q.svg>">'],
    ["[a](https://a.example) [b](#here) [c](mailto:a@b.example)", "[a](https://a.example) [b](#here) [c](mailto:a@b.example)"],
    ["`[a](b.md)`", "`[a](b.md)`"],
    ["```ts\n[a](b.md)\n```\n[a](b.md)", "```ts\n[a](b.md)\n```\n[a](<b.md>)"],
  ])("%s", ([page = "", wanted]) => {
    expect(change(page)).toBe(wanted);
  });
});
