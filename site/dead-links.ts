// Checks the links of a built site: each file and each heading that a page links must exist.

import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { findFiles } from "../scripts/find-files.ts";
import { isOutside } from "./links.ts";

const attribute = /<(?:a|img|link|script)\b[^>]*?\b(?:href|src)="([^"]+)"/g;

export function findDeadLinks(folder: string, base: string = process.env["SITE_BASE"] ?? "/"): readonly string[] {
  const pages = findFiles(folder, ".html");
  const anchors = new Map(pages.map((page) => [page, idsOf(readFileSync(page, "utf8"))]));
  return pages.flatMap((page) => {
    const targets = new Set(Array.from(readFileSync(page, "utf8").matchAll(attribute), ([, target = ""]) => target));
    return [...targets].flatMap((target) => {
      if (isOutside(target) && !target.startsWith("#")) return [];
      const [path = "", anchor] = target.replaceAll("&amp;", "&").split("#");
      const file =
        path === ""
          ? page
          : fileAt(
              folder,
              path.startsWith(base) ? path.slice(base.length) : posix.relative(folder, posix.join(posix.dirname(page), path)),
            );
      if (!existsSync(file)) return [`${page}: ${target}: there is no ${file}`];
      const known = anchors.get(file);
      const isKnown = anchor === undefined || anchor === "" || known === undefined || known.has(decodeURIComponent(anchor));
      return isKnown ? [] : [`${page}: ${target}: ${file} has no heading with this anchor`];
    });
  });
}

function fileAt(folder: string, path: string): string {
  const file = posix.join(folder, decodeURIComponent(path));
  return path === "" || path.endsWith("/") ? posix.join(file, "index.html") : file;
}

function idsOf(html: string): ReadonlySet<string> {
  return new Set(Array.from(html.matchAll(/\bid="([^"]+)"/g), ([, id = ""]) => id));
}
