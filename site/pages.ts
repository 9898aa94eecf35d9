// Collects the pages of the site: the Markdown of docs with the files that it links, and the README. The files stay where they are,
// and their links work on GitHub and in the package. On the site, docs/guides/x.md is /guides/x, and examples/x.ts is a page too.

import { existsSync, readFileSync, statSync } from "node:fs";
import { posix } from "node:path";
import { findFiles } from "../scripts/find-files.ts";
import { changeLinks } from "./links.ts";
import { readSidebar, type SidebarGroup } from "./sidebar.ts";

export interface SitePages {
  /** The contents of the files to write, by their paths below the folder of pages. */
  readonly texts: ReadonlyMap<string, string>;
  /** The paths of the files to copy, by their new paths. */
  readonly copies: ReadonlyMap<string, string>;
  readonly sidebar: readonly SidebarGroup[];
}

const contents = "docs/README.md";
const home = "site/home.md";

/** Pages with another address than their path says. */
const places: { readonly [path: string]: string } = {
  [home]: "index.md",
  "README.md": "quick-start.md",
  [contents]: "contents.md",
};

const isMarkdown = (path: string): boolean => path.endsWith(".md");
const isPicture = (path: string): boolean => /\.(svg|png)$/.test(path);

/** Returns the path below the folder of pages. */
function placeOf(path: string): string {
  const place = places[path] ?? path.replace(/^docs\//, "");
  return isMarkdown(path) || isPicture(path) ? place.replace(/README\.md$/, "index.md") : `source/${path}.md`;
}

/** A link to a folder leads to the page that describes the folder. */
function fileOf(path: string): string {
  if (!existsSync(path)) throw new Error(`There is no ${path}.`);
  if (!statSync(path).isDirectory()) return path;
  return [`${path}/README.md`, `${path}/main.ts`].find((inside) => existsSync(inside)) ?? contents;
}

export function collectPages(): SitePages {
  const texts = new Map<string, string>();
  const copies = new Map<string, string>();
  const waiting = [home, "README.md", ...findFiles("docs", ".md").filter((path) => !/^docs\/(sources|reference)\//.test(path))];
  const seen = new Set(waiting);
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const place = placeOf(path);
    if (isPicture(path)) {
      copies.set(place, path);
      continue;
    }
    const text = readFileSync(path, "utf8");
    if (!isMarkdown(path)) {
      texts.set(place, toSourcePage(path, text));
      continue;
    }
    const page = path;
    const changed = changeLinks(text, (target) => {
      const [file = "", anchor] = target.split("#");
      const linked = fileOf(posix.join(posix.dirname(page), decodeURIComponent(file)).replace(/\/$/, ""));
      if (!seen.has(linked)) waiting.push(linked);
      seen.add(linked);
      return `${relative(place, placeOf(linked))}${anchor === undefined ? "" : `#${anchor}`}`;
    });
    texts.set(place, changed);
  }
  return { texts, copies, sidebar: readSidebar(readFileSync(contents, "utf8"), titleOf, routeOf) };
}

function relative(from: string, to: string): string {
  const path = posix.relative(posix.dirname(from), to);
  return path.startsWith(".") ? path : `./${path}`;
}

function titleOf(path: string): string {
  return /^# (?:\d+\. )?(.+)$/m.exec(readFileSync(path, "utf8"))?.[1]?.replaceAll("`", "") ?? path;
}

function routeOf(path: string): string | undefined {
  return path.startsWith("docs/") && !/^docs\/(sources|reference)\//.test(path)
    ? `/${placeOf(path).replace(/(index)?\.md$/, "")}`
    : undefined;
}

/** The search would find each line of code twice, because the guides show the same code. */
function toSourcePage(path: string, text: string): string {
  const language = /\.(ts|tsx|json|css|html)$/.exec(path)?.[1] ?? "text";
  return `---\nsearch: false\nsidebar: false\n---\n\n# ${path}\n\n\`\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\`\n`;
}
