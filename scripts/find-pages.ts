// Lists the pages that people read: the README, llms.txt, and docs without the reference, which is built.

import { existsSync } from "node:fs";
import { findFiles } from "./find-files.ts";

const roots = ["README.md", "llms.txt"];

/** Every page, from the root. */
export function findPages(): readonly string[] {
  const guides = existsSync("docs") ? findFiles("docs", ".md") : [];
  return [...roots, ...guides.filter((path) => !path.startsWith("docs/reference/"))];
}
