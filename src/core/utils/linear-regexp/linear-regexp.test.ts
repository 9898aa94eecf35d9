import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileLinearRegExp, type LinearRegExpOrProblem } from "./linear-regexp.ts";

type Found = readonly [start: number, end: number] | undefined;

type LinearRegExp = Extract<LinearRegExpOrProblem, { readonly kind: "compiled" }>["regExp"];

function compile(source: string, flags: string): LinearRegExp {
  const compiled = compileLinearRegExp(source, flags);
  if (compiled.kind === "refused") throw new Error(`/${source}/${flags} ${compiled.problem}`);
  return compiled.regExp;
}

function find(source: string, flags: string, text: string): Found {
  const { range } = compile(source, flags).find(text);
  return range === undefined ? undefined : [range.start, range.end];
}

/** Asked at each place, because V8 also looks for a place that takes no character within a surrogate pair. */
function findNatively(source: string, flags: string, text: string): Found {
  const native = new RegExp(source, `${flags}y`);
  for (let at = 0; at <= text.length; at += flags.includes("u") && (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
    native.lastIndex = at;
    const found = native.exec(text);
    if (found !== null) return [at, at + found[0].length];
  }
  return undefined;
}

const problemOf = (source: string, flags: string): string | undefined => {
  const compiled = compileLinearRegExp(source, flags);
  return compiled.kind === "refused" ? compiled.problem : undefined;
};

/** Patterns of the whole subset, as texts. Counts are small, so that the platform's own search comes to an end. */
const { pattern: patterns } = fc.letrec<{ pattern: string; branch: string; part: string }>((tie) => ({
  pattern: fc.array(tie("branch"), { minLength: 1, maxLength: 3 }).map((branches) => branches.join("|")),
  branch: fc.array(tie("part"), { maxLength: 3 }).map((parts) => parts.join("")),
  part: fc.oneof(
    { maxDepth: 3, depthIdentifier: "group" },
    fc.constantFrom("^", "$", "\\b", "\\B"),
    fc
      .tuple(
        fc.constantFrom(
          ..."aabbAk_1 .ſé😀",
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
          "[^]",
          "[]",
          "[\\d_]",
        ),
        fc.constantFrom("", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}", "{0}"),
      )
      .map((parts) => parts.join("")),
    fc
      .tuple(
        fc.constantFrom("(", "(?:"),
        tie("pattern"),
        fc.constantFrom(")", ")*", ")+", ")?", ")*?", ")+?", ")??", "){2}", "){0,2}", "){1,3}?", "){2,}"),
      )
      .map((parts) => parts.join("")),
  ),
}));
const flagSets = fc.subarray(["i", "m", "s", "u"]).map((flags) => flags.join(""));
const texts = fc.string({ unit: fc.constantFrom(..."aaabbAK_1 \nſé😀", "\ud83d"), maxLength: 8 });

describe("a linear regular expression", () => {
  it("finds what the platform's own finds", () => {
    fc.assert(
      fc.property(patterns, flagSets, fc.array(texts, { minLength: 1, maxLength: 5 }), (source, flags, samples) => {
        fc.pre(source !== "");
        fc.pre(problemOf(source, flags) === undefined);
        for (const text of samples) expect([text, find(source, flags, text)]).toEqual([text, findNatively(source, flags, text)]);
      }),
      // The same patterns each time: of a few in a million, the platform's own engine takes for ever.
      { numRuns: 3_000, seed: Number(process.env["SEED"] ?? 20_260_101) },
    );
  });

  it("refuses hardly any of those", () => {
    const refused = fc
      .sample(patterns, { numRuns: 500, seed: 7 })
      .filter((source) => source !== "" && problemOf(source, "") !== undefined);
    expect(refused.length).toBeLessThan(25);
  });

  it.for<[source: string, flags: string, text: string, found: Found]>([
    ["remind(er)?s?", "i", "My Reminders", [3, 12]],
    ["a|ab", "", "xab", [1, 2]],
    ["a+?", "", "aaa", [0, 1]],
    ["(?<name>a)(?:b)", "", "ab", [0, 2]],
    // A round that takes nothing does not count, but those that must be do.
    ["(?:|a)?", "", "a", [0, 1]],
    ["(?:|a){1}", "", "a", [0, 0]],
    ["(?:|a){1,2}", "", "a", [0, 1]],
    ["(?:(?:|a)?b?)*", "", "ab", [0, 2]],
    ["(?:a??)*b", "", "aab", [0, 3]],
    ["(?:\\b|a)*", "", "aa", [0, 2]],
    ["^b", "", "a\nb", undefined],
    ["^b", "m", "a\nb", [2, 3]],
    ["a$", "m", "a\u2028b", [0, 1]],
    ["a.b", "", "a\nb", undefined],
    ["a.b", "s", "a\nb", [0, 3]],
    [".", "", "😀", [0, 1]],
    [".", "u", "😀", [0, 2]],
    ["😀+", "u", "x😀😀", [1, 5]],
    ["\\ud83d\\ude00", "u", "😀", [0, 2]],
    ["\\u{1f600}", "u", "😀", [0, 2]],
    ["\\ude00", "u", "😀", undefined],
    ["\\p{Lu}+", "u", "aÄÖ", [1, 3]],
    ["[\\p{L}]+\\P{L}", "u", "äö1", [0, 3]],
    ["\\w+", "i", "ſ", undefined],
    ["\\w+", "iu", "ſ", [0, 1]],
    ["\\bs", "iu", "ſ", [0, 1]],
    ["[^x]", "i", "X", undefined],
    ["a{,2}", "", "aa{,2}", [1, 6]],
    ["[\\]a]+", "", "]a", [0, 2]],
    ["[\\b]\\cJ\\0", "", "\b\n\0", [0, 3]],
    ["\\/\\-", "", "/-", [0, 2]],
    ["[\\\\p{]+", "", "\\{p", [0, 3]],
  ])("/%s/%s in %j finds %j", ([source, flags, text, found]) => {
    expect(find(source, flags, text)).toEqual(found);
    expect(findNatively(source, flags, text)).toEqual(found);
  });

  it.for<[source: string, flags: string, problem: string | RegExp]>([
    ["", "", "is empty"],
    ["a", "g", 'has the flag "g", which is none of i, m, s and u'],
    ["a", "iui", 'has the flag "i" twice'],
    ["(", "", /^cannot be read: \S.*[^/]$/],
    ["a**", "", /^cannot be read: /],
    ["\\", "", /^cannot be read: /],
    ["[b-a]", "", /^cannot be read: /],
    ["\\q", "u", /^cannot be read: /],
    ["\\q", "", 'has "\\q", which is not supported'],
    ["\\07", "", 'has "\\0", which is not supported'],
    ["(a)\\1", "", "refers back to a group, which is not supported"],
    ["(?<x>a)\\k<x>", "", "refers back to a group, which is not supported"],
    ["a(?=b)", "", "looks ahead or behind, which is not supported"],
    ["a(?!b)", "", "looks ahead or behind, which is not supported"],
    ["(?<=a)b", "", "looks ahead or behind, which is not supported"],
    ["(?<!a)b", "", "looks ahead or behind, which is not supported"],
    ["\\p{L}", "", 'has "\\p{" or "\\u{", which need the flag u'],
    ["[a\\u{61}]", "", 'has "\\p{" or "\\u{", which need the flag u'],
    ["a".repeat(501), "", "is longer than 500 characters"],
    ["(a{100}){100}", "", "repeats too much"],
    ["(((a{1000000000}){1000000000}){1000000000})", "", "repeats too much"],
    ["(?:(?:(?:){1000000000}){1000000000}){1000000000}", "", "repeats too much"],
    ["(?:){0,1000000000}", "", "repeats too much"],
    // Where a loop may go round without a character, each part counts once more.
    ["(?:".repeat(20) + "a?".repeat(30) + ")*".repeat(20), "", "repeats too much"],
    ["(".repeat(51) + ")".repeat(51), "", "has groups nested more than 50 deep"],
  ])("/%.60s/%s is refused", ([source, flags, problem]) => {
    expect(problemOf(source, flags)).toEqual(typeof problem === "string" ? problem : expect.stringMatching(problem));
  });

  it("takes patterns up to its bounds", () => {
    expect(find("(".repeat(50) + "a" + ")".repeat(50), "", "ba")).toEqual([1, 2]);
    expect(find("a".repeat(490), "", "a".repeat(490))).toEqual([0, 490]);
    expect(find("(a)".repeat(60), "", "a".repeat(60))).toEqual([0, 60]);
    expect(find("(".repeat(40) + "a" + ")+".repeat(40), "", "baaa")).toEqual([1, 4]);
    expect(find("a{450}", "", "a".repeat(450))).toEqual([0, 450]);
  });
});

describe("searching", () => {
  const long = "a".repeat(4_000);
  it.for<[source: string, text: string, found: boolean]>([
    ["(a+)+$", `${long}b`, false],
    ["(a|aa)+$", `${long}b`, false],
    ["(.*)*x", long, false],
    ["(a*)*b", long, false],
    ["(((a*)*)*)*b", long, false],
    ["^(([a-z])+.)+[A-Z]([a-z])+$", long, false],
    ["(a?){100}a{100}$", `${long}b`, false],
    ["\\s*\\s*\\s*\\s*\\s*x", " ".repeat(4_000), false],
    ["(?:.?.?.?.?.?.?.?.?){25}b", long, false],
    ["(x+x+)+y", "x".repeat(4_000), false],
    ["(a|b|ab)*c", `${"ab".repeat(2_000)}c`, true],
  ])("for /%s/ takes time in proportion to the text", ([source, text, found]) => {
    const half = compile(source, "").find(text.slice(text.length / 2));
    const whole = compile(source, "").find(text);
    expect(whole.range !== undefined).toBe(found);
    expect(whole.steps).toBeLessThan(2.2 * half.steps + 1_000);
    expect(whole.steps).toBeLessThan(text.length * 2_000);
  });

  it("takes few steps for few threads, and none behind what is found", () => {
    expect(compile("remind(er)?s?", "i").find("x".repeat(1_000)).steps).toBeLessThan(3_100);
    expect(compile("a", "").find(`a${"x".repeat(1_000)}`).steps).toBeLessThan(5);
  });

  it("looks at the first 4,096 units only, but knows that the text goes on", () => {
    const blank = " ".repeat(4_095);
    expect(find("a", "", `${blank}a`)).toEqual([4_095, 4_096]);
    expect(find("a", "", `${blank} a`)).toBeUndefined();
    expect(find("a$", "", `${blank}a`)).toEqual([4_095, 4_096]);
    expect(find("a$", "", `${blank}ab`)).toBeUndefined();
    expect(find("a\\b", "", `${blank}ab`)).toBeUndefined();
    expect(find("😀", "u", `${blank}😀`)).toBeUndefined();
  });

  it("again gives the same", () => {
    const regExp = compile("[ab]+", "i");
    expect([regExp.find("xAB"), regExp.find("zz"), regExp.find("xAB")].map(({ range }) => range)).toEqual([
      { start: 1, end: 3 },
      undefined,
      { start: 1, end: 3 },
    ]);
  });
});
