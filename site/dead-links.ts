// Checks the links of a built site: each file and each heading that a page links must exist.

import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { findFiles } from "../scripts/find-files.ts";
import { isOutside } from "./links.ts";

const attribute = /<(?:a|img|link|script)\b[^>]*?\b(?:href|src)="([^"]+)"/g;

export function findDeadLinks(folder: string, base: string = process.env["SITE_BASE"] ?? "/"): readonly string[] {
  const texts = new Map(findFiles(folder, ".html").map((page) => [page, readFileSync(page, "utf8")]));
  const anchors = new Map([...texts].map(([page, html]) => [page, idsOf(html)]));
  return [...texts].flatMap(([page, html]) => {
    const targets = new Set(Array.from(html.matchAll(attribute), ([, target = ""]) => target.replaceAll("&amp;", "&")));
    return [...targets].flatMap((target) => {
      if (isOutside(target) && !target.startsWith("#")) return [];
      const [path = "", anchor = ""] = target.split("#");
      if (path.startsWith("/") && !path.startsWith(base)) return [`${page}: ${target}: is not below ${base}`];
      const file =
        path === ""
          ? page
          : fileOf(
              path.startsWith("/") ? path.slice(base.length) : posix.join(posix.relative(folder, posix.dirname(page)), path),
              folder,
            );
      if (!existsSync(file)) return [`${page}: ${target}: there is no ${file}`];
      const isKnown = anchor === "" || anchors.get(file)?.has(decodeURIComponent(anchor)) !== false;
      return isKnown ? [] : [`${page}: ${target}: ${file} has no heading with this anchor`];
    });
  });
}

function fileOf(path: string, folder: string): string {
  const file = posix.join(folder, decodeURIComponent(path.replace(/\?.*$/, "")));
  return path === "" || path.endsWith("/") ? posix.join(file, "index.html") : file;
}

function idsOf(html: string): ReadonlySet<string> {
  return new Set(Array.from(html.matchAll(/\bid="([^"]+)"/g), ([, id = ""]) => id));
}
