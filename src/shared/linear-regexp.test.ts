import fc from "fast-check";
import { expect, it } from "vitest";
import { compileLinearRegExp, parseLinearRegExp } from "./linear-regexp.ts";

type Found = readonly [start: number, end: number] | undefined;

function find(source: string, flags: string, text: string): Found {
  const parsed = parseLinearRegExp(source, flags);
  if (parsed.kind === "refused") throw new Error(`/${source}/${flags} ${parsed.problem}`);
  const found = parsed.regExp.find(text);
  expect(parsed.regExp.test(text)).toBe(found !== undefined);
  return found === undefined ? undefined : [found.start, found.end];
}

/** Searches from each character separately, because V8 also matches between the halves of a surrogate pair. */
function findNatively(source: string, flags: string, text: string): Found {
  const native = new RegExp(source, `${flags}y`);
  for (let at = 0; at <= text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
    native.lastIndex = at;
    const found = native.exec(text);
    if (found !== null) return [at, at + found[0].length];
  }
  return undefined;
}

/** Generates expressions in the common subset of JavaScript and RE2. Counts are small, so that JavaScript's search finishes. */
const { expression: expressions } = fc.letrec<{ expression: string; branch: string; part: string }>((tie) => ({
  expression: fc.array(tie("branch"), { minLength: 1, maxLength: 3 }).map((branches) => branches.join("|")),
  branch: fc.array(tie("part"), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("")),
  part: fc.oneof(
    { maxDepth: 3, depthIdentifier: "group" },
    fc.constantFrom("^", "$", "\\b", "\\B"),
    fc
      .tuple(
        fc.constantFrom(
          ..."aabbA_1 .é😀",
          "\\w",
          "\\W",
          "\\d",
          "\\s",
          "\\S",
          "\\n",
          "\\u00e9",
          "\\x41",
          "\\.",
          "[ab]",
          "[^a]",
          "[a-c1]",
        ),
        fc.constantFrom("", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}"),
      )
      .map((parts) => parts.join("")),
    fc
      .tuple(fc.constantFrom("(", "(?:"), fc.constantFrom("a|ab", "b.", "[ab]1", "é"), fc.constantFrom(")", ")*", ")+", "){2}"))
      .map((parts) => parts.join("")),
  ),
}));
const flagSets = fc.subarray(["i", "s"]).map((flags) => `${flags.join("")}u`);
const texts = fc.string({ unit: fc.constantFrom(..."aaabbA_1 \né😀"), maxLength: 8 });

it("parseLinearRegExp: finds the same matches as JavaScript for generated patterns", () => {
  fc.assert(
    fc.property(expressions, flagSets, fc.array(texts, { minLength: 1, maxLength: 5 }), (source, flags, samples) => {
      for (const text of samples) expect([text, find(source, flags, text)]).toEqual([text, findNatively(source, flags, text)]);
    }),
    // The seed is fixed, because JavaScript's search never finishes for a few expressions in a million.
    { numRuns: 600, seed: 20_260_101 },
  );
});

it.for<[source: string, flags: string, text: string, found: Found]>([
  ["remind(er)?s?", "i", "My Reminders", [3, 12]],
  ["a|ab", "", "xab", [1, 2]],
  ["(?<name>a)(?:b)", "", "ab", [0, 2]],
  ["^b", "", "a\nb", undefined],
  ["^b", "m", "a\nb", [2, 3]],
  ["a.b", "", "a\nb", undefined],
  ["a.b", "s", "a\nb", [0, 3]],
  [".", "u", "😀", [0, 2]],
  ["\\u{1f600}+", "u", "x😀😀", [1, 5]],
  ["\\p{Lu}+", "u", "aÄÖ", [1, 3]],
  ["[\\]a]+", "", "]a", [0, 2]],
  ["a{,2}", "", "aa{,2}", [1, 6]],
])(
  "parseLinearRegExp: the pattern /%s/%s, applied to the text %j, finds %j, as in JavaScript",
  ([source, flags, text, found]) => {
    expect(find(source, flags, text)).toEqual(found);
    expect(findNatively(source, flags, text)).toEqual(found);
  },
);

const slow = /^cannot be run in linear time: /;

it.for<[source: string, flags: string, problem: string | RegExp]>([
  ["", "", "is empty"],
  ["a", "g", 'has the flag "g"; use only i, m, s and u'],
  ["a", "iui", 'has the flag "i" twice'],
  ["(", "", /^cannot be read: \S.*[^/]$/],
  ["\\q", "u", /^cannot be read: /],
  ["(a)\\1", "", slow],
  ["a(?!b)", "", slow],
  ["(?<=a)b", "", slow],
  ["\\p{L}", "", 'has "\\p{" or "\\u{", which need the flag u'],
  ["a".repeat(501), "", "is longer than 500 characters"],
  ["(((a{1000}){1000}){1000})", "", slow],
  ["(?:){0,1000000000}", "", slow],
])("parseLinearRegExp: rejects the pattern $0 with the flags $1", ([source, flags, problem]) => {
  const parsed = parseLinearRegExp(source, flags);
  expect(parsed).toEqual({
    kind: "refused",
    problem: typeof problem === "string" ? problem : expect.stringMatching(problem),
  });
});

it("compileLinearRegExp: tests 100,000 characters with a pattern that takes exponential time in JavaScript", () => {
  expect(compileLinearRegExp("^(a+)+$")?.test(`${"a".repeat(100_000)}b`)).toBe(false);
});
