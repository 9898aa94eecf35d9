// Lists the pages of the documentation: the README, the home page of the site, llms.txt, the skill for coding agents, and docs without the generated reference.

import { existsSync } from "node:fs";
import { findFiles } from "./find-files.ts";

const roots = ["README.md", "llms.txt", "skills/turnwright/SKILL.md", "site/home.md"];

export function findPages(): readonly string[] {
  const guides = existsSync("docs") ? findFiles("docs", ".md") : [];
  return [...roots, ...guides.filter((path) => !path.startsWith("docs/reference/"))];
}
