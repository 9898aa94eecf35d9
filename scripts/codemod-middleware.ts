// Rewrites the options `policies`, `hooks`, `contextItems`, `limits.maxRestarts` and `decisions` of runs to `middleware` and
// `answers`, in .ts, .tsx, .mts and .js files and in code blocks of .md files. Prints each place that needs a human.
//
//   npx tsx scripts/codemod-middleware.ts test/loop docs README.md

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toProse } from "./codemod/policy-words.ts";
import { type Rewritten, rewriteSource } from "./codemod/rewrite-source.ts";
import { reportProblems } from "./report-problems.ts";

const block = /^( *)```(ts|typescript|tsx|mts|js)\b(.*)\n([^]*?)\n\1```$/gm;

function rewritePage(path: string, text: string): Rewritten {
  const problems: string[] = [];
  const changed = text.replaceAll(block, (whole, ...groups) => {
    const [indent, language, rest, code, at] = groups as [string, string, string, string, number];
    const made = rewriteSource(`${path}.${language === "tsx" ? "tsx" : "ts"}`, code);
    const line = text.slice(0, at).split("\n").length;
    const place = (_: string, own: string): string => `${path}:${line + Number(own)}:`;
    problems.push(...made.problems.map((problem) => problem.replace(/^.*?:(\d+):/, place)));
    return made.text === code ? whole : `${indent}\`\`\`${language}${rest}\n${made.text}\n${indent}\`\`\``;
  });
  return { text: changed.replaceAll(/`[^`\n]*`/g, toProse), problems };
}

function listFiles(path: string): readonly string[] {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path)
    .filter((name) => name !== "node_modules")
    .map((name) => join(path, name))
    .flatMap((inner) => (statSync(inner).isDirectory() || /\.(ts|tsx|mts|js|md)$/.test(inner) ? listFiles(inner) : []));
}

const problems: string[] = [];
for (const path of process.argv.slice(2).flatMap(listFiles)) {
  const text = readFileSync(path, "utf8");
  const made = path.endsWith(".md") ? rewritePage(path, text) : rewriteSource(path, text);
  problems.push(...made.problems);
  if (made.text !== text) writeFileSync(path, made.text);
}
reportProblems(problems);
