// Checks that comments, pages with their headings, and strings in src are in plain English. Reports phrases that are hard to read, doc
// comments that begin with a condition, and pages with long sentences.
// `--lengths` prints the average sentence length of every page instead.

import { existsSync, readFileSync } from "node:fs";
import { findFiles } from "./find-files.ts";
import { findPages } from "./find-pages.ts";
import { countWords, readCommentProse, readPageProse, readStringProse, type Sentence } from "./read-prose.ts";
import { reportProblems } from "./report-problems.ts";

interface Phrase {
  readonly pattern: RegExp;
  readonly why: string;
}

const phrases: readonly Phrase[] = [
  {
    pattern: /^[*_"(]*(What|Who|Whoever|Whether|Where)\b.*\.[*_")]*$/,
    why: 'start with the subject, with "If", or with "True if"; only a question may start like this',
  },
  { pattern: /(?<!\bthere) is none\b(?! of\b)/i, why: 'write "is not a ..." or "has no ..."' },
  { pattern: /\bso that nobody\b/i, why: 'say what happens: "so X stays ..."' },
  { pattern: /\bbehind (it|them|that)\b/i, why: 'write "after" for time, and name the place for space' },
  {
    pattern: /\bforeign (code|data|answers?|objects?|tools?)\b/i,
    why: 'name whose it is: "a provider\'s", "your tool\'s", "untrusted"',
  },
  { pattern: /\bstrangers?\b/i, why: 'say who: "other people", "untrusted callers"' },
  { pattern: /\b(is|are|was|were) told that\b/i, why: 'write "reads that" for a model, "gets" or "is called with" for code' },
  { pattern: /, for (it|they|there|he|she) [a-z]+/, why: 'write "because"' },
  { pattern: /\bby (itself|themselves)\b/i, why: 'write "on its own" or "automatically"' },
  { pattern: /\bbeside\b/i, why: 'write "next to" for a place, "besides" for an addition, "while" for a time' },
  { pattern: /, also (if|when|after|from|through|those|without)\b/, why: 'write "even if", "including those"' },
  { pattern: /\bin any case\b/i, why: 'write "either way" or "regardless"' },
  { pattern: /\b(another( \w+){1,2}|something else) than\b/i, why: 'write "a different ... than" or "something other than"' },
  { pattern: /\bwhile (a|the|its) (run|model|worker) works\b/i, why: 'write "is running", "is working" or "during the run"' },
  { pattern: /\bcalls? of (an unknown|another|a hidden) tool\b/i, why: 'write "call to"' },
  { pattern: /` of `turnwright/, why: 'write "from"' },
  { pattern: /\bthe (option|event|trait) `[^`]+`(?!,? (?:and|or) `)/i, why: "name the thing first: the `x` option" },
];

/** For strings and headings only, because in other text these words may be right. */
const shortPhrases: readonly Phrase[] = [
  { pattern: /^a text\b|\bmust be a text\b/, why: 'write "a string"' },
  { pattern: /\bof (?:itself|himself)\b/i, why: "name the thing" },
];

/** The beginnings of doc comments that say when a value is missing, and not what the value is. */
const conditionFirst = /\/\*\*\s+(?:\* )?((?:Absent|Default|Empty|Missing|Null|Otherwise|Set (?:if|only)|Undefined)\b.*)/g;

/** The limit for the average number of words in a sentence of a guide or the README. */
const maxWords = 18;

const sources = ["src", "test", "examples", "scripts"]
  .flatMap((folder) => [...findFiles(folder, ".ts"), ...findFiles(folder, ".tsx")])
  .concat(findFiles("bench/src", ".js"));
const roots = ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"].filter((path) => existsSync(path));
const pages = [...findPages(), ...roots];

function refusePhrases(path: string, sentences: readonly Sentence[]): readonly string[] {
  return sentences.flatMap(({ kind, line, text }) => {
    const isShort = kind === "string" || kind === "heading";
    return [...phrases, ...(isShort ? shortPhrases : [])]
      .filter(({ pattern }) => pattern.test(text))
      .map(({ why }) => `${path}:${line}: ${why}: ${text}`);
  });
}

function refuseConditionFirst(path: string, source: string): readonly string[] {
  return [...source.matchAll(conditionFirst)].map(({ index, 1: text = "" }) => {
    const line = source.slice(0, index).split("\n").length;
    return `${path}:${line}: say first what the value is: ${text}`;
  });
}

/** Does not count tables. */
function averageWords(path: string): number {
  const counts = readPageProse(readFileSync(path, "utf8"))
    .filter(({ kind }) => kind === "text")
    .map(({ text }) => countWords(text))
    .filter((count) => count > 0);
  return counts.reduce((sum, count) => sum + count, 0) / Math.max(counts.length, 1);
}

function refuseLongSentences(path: string): readonly string[] {
  const average = averageWords(path);
  if (average < maxWords) return [];
  return [`${path}: the average sentence has ${average.toFixed(1)} words; split sentences until it is under ${maxWords}`];
}

if (process.argv.includes("--lengths")) {
  for (const path of pages) console.log(averageWords(path).toFixed(1).padStart(5), path);
} else {
  reportProblems([
    ...sources.flatMap((path) => refusePhrases(path, readCommentProse(readFileSync(path, "utf8")))),
    ...sources.flatMap((path) => refuseConditionFirst(path, readFileSync(path, "utf8"))),
    ...sources
      .filter((path) => path.startsWith("src/") && !path.endsWith(".test.ts"))
      .flatMap((path) => refusePhrases(path, readStringProse(readFileSync(path, "utf8")))),
    ...pages.flatMap((path) => refusePhrases(path, readPageProse(readFileSync(path, "utf8")))),
    ...pages.filter((path) => path === "README.md" || path.startsWith("docs/guides/")).flatMap(refuseLongSentences),
  ]);
}
