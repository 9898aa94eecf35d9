// Checks the links of a built site: each file and each heading that a page links must exist.

import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { findFiles } from "../scripts/find-files.ts";
import { isOutside } from "./links.ts";

const attribute = /<(?:a|img|link|script)\b[^>]*?\b(?:href|src)="([^"]+)"/g;

export function findDeadLinks(folder: string, base: string = process.env["SITE_BASE"] ?? "/"): readonly string[] {
  const texts = new Map(findFiles(folder, ".html").map((page) => [page, readFileSync(page, "utf8")]));
  const anchors = new Map([...texts].map(([page, html]) => [page, idsOf(html)]));
  const problemWith = (target: string, page: string): string | undefined => {
    const [path = "", anchor = ""] = target.split("#");
    if (path.startsWith("/") && !path.startsWith(base)) return `is not below ${base}`;
    const file =
      path === ""
        ? page
        : fileOf(path.startsWith("/") ? `${folder}/${path.slice(base.length)}` : `${posix.dirname(page)}/${path}`);
    if (!existsSync(file)) return `there is no ${file}`;
    const isKnown = anchor === "" || anchors.get(file)?.has(decodeURIComponent(anchor)) !== false;
    return isKnown ? undefined : `${file} has no heading with this anchor`;
  };
  return [...texts].flatMap(([page, html]) => {
    const targets = new Set(Array.from(html.matchAll(attribute), ([, target = ""]) => target.replaceAll("&amp;", "&")));
    return [...targets].flatMap((target) => {
      const problem = isOutside(target) && !target.startsWith("#") ? undefined : problemWith(target, page);
      return problem === undefined ? [] : [`${page}: ${target}: ${problem}`];
    });
  });
}

function fileOf(path: string): string {
  const file = posix.normalize(decodeURIComponent(path.replace(/\?.*$/, "")));
  return file.endsWith("/") ? `${file}index.html` : file;
}

function idsOf(html: string): ReadonlySet<string> {
  return new Set(Array.from(html.matchAll(/\bid="([^"]+)"/g), ([, id = ""]) => id));
}
