// Keeps the code in the docs equal to the examples that run. `--write` fills it in.
//
// Each ```ts block stands under a comment that names its source, either a region or a whole file:
//
//   <!-- from examples/hello.ts#run -->
//
// A region lies between `// #region run` and `// #endregion run`. Guides and concept pages list the imports of their snippets in a line
// under `<!-- imports -->`, which is made from the imports of these examples.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { findPages } from "./find-pages.ts";
import { describeImports, type Snippet } from "./page-imports.ts";
import { reportProblems } from "./report-problems.ts";

const source = /^<!-- from (?<path>[^\s#]+)(?:#(?<region>[\w-]+))? -->$/;
const opening = /^\s*```\s*(ts|typescript|tsx|mts|cts|js|javascript|mjs|cjs|jsx)\b/;
const marker = /^\s*\/\/ #(end)?region\b/;

const importsMark = "<!-- imports -->";
const needsImports = /^docs\/(?:guides|concepts)\//;

/** The lines that a block must have and their example, or the reason why they are unknown. */
type Wanted = { readonly lines: readonly string[]; readonly example: string } | { readonly problem: string };

function readRegion(path: string, region: string | undefined): Wanted {
  if (!existsSync(path)) return { problem: `there is no ${path}` };
  const example = readFileSync(path, "utf8").trimEnd();
  const lines = example.split("\n");
  if (region === undefined) return { lines: lines.filter((line) => !marker.test(line)), example };
  const start = lines.findIndex((line) => line.trim() === `// #region ${region}`);
  const end = lines.findIndex((line) => line.trim() === `// #endregion ${region}`);
  if (start < 0 || end < start) return { problem: `${path} has no region "${region}"` };
  return { lines: dedent(lines.slice(start + 1, end).filter((line) => !marker.test(line))), example };
}

function dedent(lines: readonly string[]): readonly string[] {
  const depths = lines.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
  const depth = Math.min(...depths);
  return lines.map((line) => line.slice(depth));
}

function wantedBy(comment: string | undefined): Wanted {
  const named = source.exec(comment?.trim() ?? "")?.groups;
  if (named?.["path"] === undefined)
    return { problem: "the line above a block of code names its source: <!-- from examples/…ts#region -->" };
  return readRegion(named["path"], named["region"]);
}

interface Checked {
  readonly lines: readonly string[];
  readonly snippets: readonly Snippet[];
  readonly problems: readonly string[];
}

/** The page with every block as its source has it, and what is wrong with the page as it is. */
function checkPage(path: string, page: readonly string[]): Checked {
  const lines: string[] = [];
  const snippets: Snippet[] = [];
  const problems: string[] = [];
  for (let index = 0; index < page.length; index += 1) {
    const line = page[index] ?? "";
    lines.push(line);
    if (!opening.test(line)) continue;
    const length = page.slice(index + 1).findIndex((later) => later.trim() === "```");
    const said = page.slice(index + 1, index + 1 + Math.max(length, 0));
    const wanted = length < 0 ? { problem: "the block has no end" } : wantedBy(page[index - 1]);
    if ("problem" in wanted) problems.push(`${path}:${index + 1}: ${wanted.problem}`);
    else if (wanted.lines.join("\n") !== said.join("\n"))
      problems.push(`${path}:${index + 1}: differs from its source; \`npm run docs:sync\` fills it in`);
    lines.push(...("problem" in wanted ? said : wanted.lines));
    if (!("problem" in wanted)) snippets.push({ code: wanted.lines.join("\n"), example: wanted.example });
    index += said.length;
  }
  return checkImports(path, { lines, snippets, problems });
}

/** The page with the line that says what its snippets import. */
function checkImports(path: string, { lines, snippets, problems }: Checked): Checked {
  const wanted = needsImports.test(path) ? describeImports(snippets) : undefined;
  const mark = lines.indexOf(importsMark);
  if (wanted === undefined) return { lines, snippets, problems };
  if (mark < 0)
    return { lines, snippets, problems: [...problems, `${path}: says nowhere what its snippets import, under ${importsMark}`] };
  if (lines[mark + 1] === wanted) return { lines, snippets, problems };
  const problem = `${path}:${mark + 2}: differs from what its snippets import; \`npm run docs:sync\` fills it in`;
  const rest = lines.slice(lines[mark + 1]?.startsWith("Imported here:") === true ? mark + 2 : mark + 1);
  return { lines: [...lines.slice(0, mark + 1), wanted, ...rest], snippets, problems: [...problems, problem] };
}

function check(path: string): readonly string[] {
  if (!existsSync(path)) return [`${path} is missing`];
  const text = readFileSync(path, "utf8");
  const { lines, problems } = checkPage(path, text.split("\n"));
  if (!process.argv.includes("--write")) return problems;
  writeFileSync(path, lines.join("\n"));
  return checkPage(path, lines).problems;
}

reportProblems(findPages().flatMap(check));
