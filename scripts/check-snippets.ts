// Checks that the code in the docs equals the code in the examples, and that the film strips show their runs. `--write` updates both.
//
// Above each ```ts block is a comment that names its source, either a region or a whole file:
//
//   <!-- from examples/hello.ts#run -->
//
// A region starts with `// #region run` and ends with `// #endregion run`. In guides and concept pages, each block begins with the
// imports that it uses, copied from its example. The line below `<!-- programs -->` links the examples, and names what else they declare.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { posix } from "node:path";
import { drawPromises } from "./draw-promises.ts";
import { findPages } from "./find-pages.ts";
import { importsOf, namesIn, type SnippetNames } from "./page-imports.ts";
import { reportProblems } from "./report-problems.ts";

const source = /^<!-- from (?<path>[^\s#]+)(?:#(?<region>[\w-]+))? -->$/;
const opening = /^\s*```\s*(ts|typescript|tsx|mts|cts|js|javascript|mjs|cjs|jsx)\b/;
const marker = /^\s*\/\/ #(end)?region\b/;

const programsMark = "<!-- programs -->";
const isGuide = /^docs\/(?:(?:guides|concepts)\/|(?:options|media|run-log)\.md$)/;

/** A reader can paste the first snippet of a guide: it declares what it uses, except these names and those that the page explains. */
const givenNames: ReadonlySet<string> = new Set(["provider", "tools", "messages"]);
const explainedNames: Readonly<Record<string, readonly string[]>> = {
  "docs/guides/from-the-ai-sdk.md": ["model"],
  "docs/guides/long-runs.md": ["readLog", "catalog", "limits", "events"],
  "docs/guides/operations.md": ["worker"],
  "docs/guides/reading-in-parts.md": ["client"],
  "docs/guides/restate.md": ["support"],
  "docs/guides/writing-a-provider.md": ["Sdk", "SdkMessage"],
};

/** The code that a block of the docs must have. Or the problem, if there is no such example. */
type Wanted =
  | { readonly lines: readonly string[]; readonly path: string; readonly names: readonly SnippetNames[] }
  | { readonly problem: string };

function readRegion(path: string, region: string | undefined, page: string): Wanted {
  if (!existsSync(path)) return { problem: `there is no ${path}` };
  const example = readFileSync(path, "utf8").trimEnd();
  const lines = example.split("\n");
  if (region === undefined) {
    const whole = lines.filter((line) => !marker.test(line));
    return { lines: whole, path, names: [{ declared: new Set(), borrowed: [] }] };
  }
  const start = lines.findIndex((line) => line.trim() === `// #region ${region}`);
  const end = lines.findIndex((line) => line.trim() === `// #endregion ${region}`);
  if (start < 0 || end < start) return { problem: `${path} has no region "${region}"` };
  const code = dedent(lines.slice(start + 1, end).filter((line) => !marker.test(line)));
  if (!isGuide.test(page)) return { lines: code, path, names: [] };
  const snippet = code.join("\n");
  return { lines: [...importsOf(snippet, example), ...code], path, names: [namesIn(snippet, example)] };
}

function dedent(lines: readonly string[]): readonly string[] {
  const depths = lines.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
  const depth = Math.min(...depths);
  return lines.map((line) => line.slice(depth));
}

function wantedBy(comment: string | undefined, page: string): Wanted {
  const named = source.exec(comment?.trim() ?? "")?.groups;
  if (named?.["path"] === undefined)
    return { problem: "name the source of this block in the line above: <!-- from examples/…ts#region -->" };
  return readRegion(named["path"], named["region"], page);
}

function checkFirst(path: string, [first]: readonly SnippetNames[]): readonly string[] {
  if (first === undefined || !path.startsWith("docs/guides/")) return [];
  const unknown = first.borrowed.filter((name) => !givenNames.has(name) && explainedNames[path]?.includes(name) !== true);
  return unknown.length === 0 ? [] : [`${path}: the first snippet does not declare ${unknown.join(", ")}`];
}

interface Checked {
  readonly lines: readonly string[];
  readonly examples: ReadonlySet<string>;
  readonly names: readonly SnippetNames[];
  readonly problems: readonly string[];
}

function checkPage(path: string, page: readonly string[]): Checked {
  const lines: string[] = [];
  const examples = new Set<string>();
  const names: SnippetNames[] = [];
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
    const wanted = length < 0 ? { problem: "the block has no end" } : wantedBy(page[index - 1], path);
    if ("problem" in wanted) problems.push(`${path}:${index + 1}: ${wanted.problem}`);
    else if (wanted.lines.join("\n") !== said.join("\n"))
      problems.push(`${path}:${index + 1}: differs from its source; run \`npm run docs:sync\``);
    lines.push(...("problem" in wanted ? said : wanted.lines));
    if (!("problem" in wanted)) {
      examples.add(wanted.path);
      names.push(...wanted.names);
    }
    index += said.length;
  }
  return checkPrograms(path, { lines, examples, names, problems: [...problems, ...checkFirst(path, names)] });
}

/** The names that the snippets of a page use, and that only their examples declare. */
function listBorrowed(names: readonly SnippetNames[]): string {
  const declared = new Set(names.flatMap((snippet) => [...snippet.declared]));
  const borrowed = [...new Set(names.flatMap((snippet) => snippet.borrowed))].filter((name) => !declared.has(name));
  return borrowed.length === 0 ? "" : ` They also declare ${joinNames(borrowed)}.`;
}

function joinNames(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``);
  return [quoted.slice(0, -1).join(", "), ...quoted.slice(-1)].filter((part) => part !== "").join(" and ");
}

function checkPrograms(path: string, checked: Checked): Checked {
  const { lines, examples, names, problems } = checked;
  if (!isGuide.test(path) || examples.size === 0) return checked;
  const links = [...examples].map((example) => `[${posix.basename(example)}](${posix.relative(posix.dirname(path), example)})`);
  const wanted = `Full programs: ${links.join(", ")}.${listBorrowed(names)}`;
  const mark = lines.indexOf(programsMark);
  if (mark < 0) {
    const problem = `${path}: has no line for its programs; add ${programsMark}, and run \`npm run docs:sync\``;
    return { ...checked, problems: [...problems, problem] };
  }
  if (lines[mark + 1] === wanted) return checked;
  const problem = `${path}:${mark + 2}: differs from the examples of the snippets; run \`npm run docs:sync\``;
  const rest = lines.slice(lines[mark + 1]?.startsWith("Full programs:") === true ? mark + 2 : mark + 1);
  return { lines: [...lines.slice(0, mark + 1), wanted, ...rest], examples, names, problems: [...problems, problem] };
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
