// Checks that the code in the docs equals the code in the examples, and that the film strips show their runs. `--write` updates both.
//
// Above each ```ts block is a comment that names its source, either a region or a whole file:
//
//   <!-- from examples/hello.ts#run -->
//
// A region starts with `// #region run` and ends with `// #endregion run`. Guides and concept pages list the imports of their
// snippets in the line below `<!-- imports -->`. This line is generated from the imports of the examples.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { drawPromises } from "./draw-promises.ts";
import { findPages } from "./find-pages.ts";
import { describeImports, type Snippet } from "./page-imports.ts";
import { reportProblems } from "./report-problems.ts";

const source = /^<!-- from (?<path>[^\s#]+)(?:#(?<region>[\w-]+))? -->$/;
const opening = /^\s*```\s*(ts|typescript|tsx|mts|cts|js|javascript|mjs|cjs|jsx)\b/;
const marker = /^\s*\/\/ #(end)?region\b/;

const importsMark = "<!-- imports -->";
const needsImports = /^docs\/(?:guides|concepts)\//;

/** The code that a block of the docs must have, and the example that contains it. Or the problem, if there is no such example. */
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
    return { problem: "name the source of this block in the line above: <!-- from examples/…ts#region -->" };
  return readRegion(named["path"], named["region"]);
}

interface Checked {
  readonly lines: readonly string[];
  readonly snippets: readonly Snippet[];
  readonly problems: readonly string[];
}

function checkPage(path: string, page: readonly string[]): Checked {
  const lines: string[] = [];
  const snippets: Snippet[] = [];
  const problems: string[] = [];
  for (let index = 0; index < page.length; index += 1) {
    const line = page[index] ?? "";
    lines.push(line);
    if (source.test(line.trim()) && !opening.test(page[index + 1] ?? "")) {
      problems.push(`${path}:${index + 1}: has no block; run \`npm run docs:sync\``);
      lines.push("```ts", "```");
    }
    if (!opening.test(line)) continue;
    const length = page.slice(index + 1).findIndex((later) => later.trim() === "```");
    const said = page.slice(index + 1, index + 1 + Math.max(length, 0));
    const wanted = length < 0 ? { problem: "the block has no end" } : wantedBy(page[index - 1]);
    if ("problem" in wanted) problems.push(`${path}:${index + 1}: ${wanted.problem}`);
    else if (wanted.lines.join("\n") !== said.join("\n"))
      problems.push(`${path}:${index + 1}: differs from its source; run \`npm run docs:sync\``);
    lines.push(...("problem" in wanted ? said : wanted.lines));
    if (!("problem" in wanted)) snippets.push({ code: wanted.lines.join("\n"), example: wanted.example });
    index += said.length;
  }
  return checkImports(path, { lines, snippets, problems });
}

function checkImports(path: string, { lines, snippets, problems }: Checked): Checked {
  const wanted = needsImports.test(path) ? describeImports(snippets) : undefined;
  const mark = lines.indexOf(importsMark);
  if (wanted === undefined) return { lines, snippets, problems };
  if (mark < 0)
    return {
      lines,
      snippets,
      problems: [
        ...problems,
        `${path}: has no line for the imports of its snippets; add ${importsMark}, and run \`npm run docs:sync\``,
      ],
    };
  // The list may have been wrapped by hand, so its whole paragraph is compared and replaced.
  const end = lines.indexOf("", mark);
  if (lines.slice(mark + 1, end).join("\n") === wanted) return { lines, snippets, problems };
  const problem = `${path}:${mark + 2}: differs from the imports of the snippets; run \`npm run docs:sync\``;
  const rest = lines.slice(lines[mark + 1]?.startsWith("Imported here:") === true ? end : mark + 1);
  return { lines: [...lines.slice(0, mark + 1), wanted, ...rest], snippets, problems: [...problems, problem] };
}

function check(path: string): readonly string[] {
  if (!existsSync(path)) return [`${path} is missing`];
  const text = readFileSync(path, "utf8");
  const { lines: filled, problems } = checkPage(path, text.split("\n"));
  if (!process.argv.includes("--write")) return problems;
  // The first call of `checkPage` has added missing code blocks, and this call fills them with code.
  const { lines } = checkPage(path, filled);
  writeFileSync(path, lines.join("\n"));
  return checkPage(path, lines).problems;
}

/** The film strips of the README show what the runs of examples/promises do today. */
async function checkPictures(): Promise<readonly string[]> {
  const pictures = [...(await drawPromises())];
  if (process.argv.includes("--write")) for (const [path, picture] of pictures) writeFileSync(path, picture);
  const isOld = ([path, picture]: readonly [string, string]): boolean =>
    !existsSync(path) || readFileSync(path, "utf8") !== picture;
  return pictures.filter(isOld).map(([path]) => `${path}: differs from examples/promises; run \`npm run docs:sync\``);
}

reportProblems([...findPages().flatMap(check), ...(await checkPictures())]);
