// Checks every link between pages: the file and the heading must exist. Links to other sites are not checked.

import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { findPages } from "./find-pages.ts";
import { anchorOf } from "./heading-anchors.ts";
import { reportProblems } from "./report-problems.ts";

const link =
  /!?\[(?:[^[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)|^\s*\[[^\]]+\]:\s*(\S+)|\b(?:href|src)="([^"]+)"/g;
const elsewhere = /^([a-z][a-z+.-]*:|\/\/)/i;

/** Replaces lines of code with empty lines, so that line numbers stay the same. */
function proseOf(path: string): readonly string[] {
  let inCode = false;
  return readFileSync(path, "utf8")
    .split("\n")
    .map((line) => {
      const fence = /^\s*(```|~~~)/.test(line);
      if (fence) inCode = !inCode;
      return fence || inCode ? "" : line;
    });
}

/** Returns the anchors that GitHub and npm create for the headings of a page. */
function anchorsOf(path: string): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const headings = proseOf(path).flatMap((line) => /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1] ?? []);
  const anchors = headings.map((heading) => {
    const anchor = anchorOf(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
  return new Set(anchors);
}

/** Explains why a page must not link to a path. Returns undefined if the link is allowed. */
function whyForbidden(path: string, page: string): string | undefined {
  if (path.startsWith("..")) return "leads out of the repository";
  if (path.startsWith("docs/reference")) return "leads into the reference, which only exists once it is built";
  const isUnpacked = path.startsWith("docs/sources") && !page.startsWith("docs/sources/");
  return isUnpacked ? "leads into docs/sources, which is not in the package" : undefined;
}

function problemWith(target: string, page: string): string | undefined {
  if (elsewhere.test(target)) return undefined;
  const [file = "", anchor] = target.split("#");
  const path = file === "" ? page : join(dirname(page), decodeURIComponent(file)).replaceAll("\\", "/");
  const reason = whyForbidden(path, page);
  if (reason !== undefined) return reason;
  if (!existsSync(path)) return `there is no ${path}`;
  if (anchor === undefined) return undefined;
  if (!path.endsWith(".md") || statSync(path).isDirectory()) return undefined;
  return anchorsOf(path).has(anchor.toLowerCase()) ? undefined : `${path} has no heading "${anchor}"`;
}

function check(page: string): readonly string[] {
  if (!existsSync(page)) return [`${page} is missing`];
  return proseOf(page).flatMap((line, index) =>
    [...line.replace(/`[^`]*`/g, (code) => code.replace(/[[\]()]/g, " ")).matchAll(link)].flatMap(
      ([, inline, reference, attribute]) => {
        const target = inline ?? reference ?? attribute ?? "";
        const problem = problemWith(target, page);
        return problem === undefined ? [] : [`${page}:${index + 1}: ${target}: ${problem}`];
      },
    ),
  );
}

reportProblems(findPages().flatMap(check));
