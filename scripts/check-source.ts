// Finds problems that the linter does not find: comments that disable a check, and code that the style forbids.

import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { entries } from "./entries.ts";
import { findFiles } from "./find-files.ts";
import { reportProblems } from "./report-problems.ts";

interface Ban {
  readonly pattern: RegExp;
  readonly why: string;
  readonly applies: (path: string) => boolean;
}

const isTest = (path: string): boolean => /\.test(-d)?\.ts$/.test(path);

const bans: readonly Ban[] = [
  {
    pattern:
      /\b(eslint|oxlint|oxfmt|prettier|biome|dependency-cruiser)-(disable|ignore)|\b(v8|c8|istanbul) ignore|@ts-(ignore|nocheck)|@(public|internal|alias|beta)\b/,
    why: "do not disable a gate in a comment",
    applies: () => true,
  },
  { pattern: /@ts-expect-error/, why: "@ts-expect-error is only allowed in tests", applies: (path) => !isTest(path) },
  {
    pattern: /^\s*export\s+(type\s+)?\*(?!.*\/public-types\.ts";$)/,
    why: "export names, not a whole module",
    applies: () => true,
  },
  { pattern: /\b(TODO|FIXME|XXX)\b/, why: "finish the work instead of leaving a note", applies: () => true },
  { pattern: /\b(it|test|describe)(\.\w+)*\.(skip|todo|only|fails)\b/, why: "every test must run", applies: isTest },
  {
    pattern: /\b(it|test)\b.*\(\s*["'`][^"'`]*(?<![-\w])should(?![-\w])/,
    why: 'write the title as a fact, without "should"',
    applies: isTest,
  },
];

function problemsIn(path: string): readonly string[] {
  const applying = bans.filter(({ applies }) => applies(path));
  return readFileSync(path, "utf8")
    .split("\n")
    .flatMap((line, index) =>
      applying.filter(({ pattern }) => pattern.test(line)).map(({ why }) => `${path}:${index + 1}: ${why}: ${line.trim()}`),
    );
}

/** An `index.ts` that is not a published entry hides which files import each other. */
function innerIndexes(): readonly string[] {
  const published = new Set(entries.map(({ source }) => source));
  return findFiles("src", "/index.ts")
    .filter((path) => !published.has(path))
    .map((path) => `${path}: only a published entry has an index.ts`);
}

/** Readers would confuse two functions or types with the same name in one folder. */
function namesakes(): readonly string[] {
  const seen = new Map<string, string>();
  return findFiles("src", ".ts")
    .filter((path) => !isTest(path))
    .flatMap((path) => {
      const declared = readFileSync(path, "utf8").matchAll(
        /^(?:export )?(?:async )?(?:function\*?|class|interface|type) (\w+)/gm,
      );
      const names = new Set([...declared].map(([, name = ""]) => name));
      return [...names].flatMap((name) => {
        const place = `${dirname(path)}#${name}`;
        const other = seen.get(place);
        seen.set(place, path);
        return other === undefined ? [] : [`${path}: ${name} is also declared in ${other}: rename one of them`];
      });
    });
}

const sources = ["src", "test", "examples"].flatMap((folder) => findFiles(folder, ".ts"));
reportProblems([...sources.flatMap(problemsIn), ...innerIndexes(), ...namesakes()]);
