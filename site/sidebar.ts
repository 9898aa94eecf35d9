// Makes the sidebar from the contents page, docs/README.md: each of its headings is a group with the pages that it links. A page that
// several headings link is in the first group. Lists of pages come before lists of tasks, because tasks often link a part of a page.

import { posix } from "node:path";

export interface SidebarItem {
  readonly text: string;
  readonly link: string;
}

export interface SidebarGroup {
  readonly text: string;
  readonly collapsed: boolean;
  readonly items: readonly SidebarItem[];
}

/** The start of the contents page links the steps of the tutorial. */
const firstGroup = "Tutorial";

/** These groups are open at first. */
const open = [firstGroup, "Start"];

/**
 * `titleOf` returns the title of a page of docs. `routeOf` returns its address on the site, or undefined for a page that the site
 * does not have.
 */
export function readSidebar(
  contents: string,
  titleOf: (path: string) => string,
  routeOf: (path: string) => string | undefined,
): readonly SidebarGroup[] {
  const parts = Array.from(
    `## ${firstGroup}\n\n${contents}`.matchAll(/^(##+) (.*)\n((?:(?!##+ ).*\n?)*)/gm),
    ([, marks = "", text = "", body = ""]) => ({
      text,
      isList: marks === "##",
      paths: Array.from(body.matchAll(/\]\(([^)#\s]+\.md)(?:#[^)]*)?\)/g), ([, target = ""]) => posix.join("docs", target)),
    }),
  );
  const groupOf = new Map<string, (typeof parts)[number]>();
  for (const part of [...parts.filter(({ isList }) => isList), ...parts]) {
    const own = part.text === firstGroup ? part.paths.filter((path) => path.startsWith("docs/tutorial/")) : part.paths;
    for (const path of own) if (!groupOf.has(path)) groupOf.set(path, part);
  }
  const groups = parts.map((part) => ({
    text: part.text,
    collapsed: !open.includes(part.text),
    items: [...new Set(part.paths)].flatMap((path) => {
      const link = groupOf.get(path) === part ? routeOf(path) : undefined;
      return link === undefined ? [] : [{ text: titleOf(path), link }];
    }),
  }));
  return groups.filter(({ items }) => items.length > 0);
}
