import { describe, expect, it } from "vitest";
import { countBytes } from "../shared/estimate-tokens.ts";
import { type LineRequest, lookUp } from "./look-up.ts";
import { linesOfText } from "./text-lines.ts";

const id = "any";
const numbered = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index + 1}`).join("\n");
const look = (text: string, request: LineRequest): Promise<string> => lookUp(linesOfText(text), request);
const linesOf = (answer: string): readonly string[] => answer.split("\n").slice(1);

it.for<[what: string, request: LineRequest, answer: readonly string[]]>([
  ["a range of lines", { id, action: "read", startLine: 2, endLine: 3 }, ["Lines 2 to 3 of 5.", "line 2", "line 3"]],
  [
    "the lines from a start line to the end",
    { id, action: "read", startLine: 4, endLine: undefined },
    ["Lines 4 to 5 of 5.", "line 4", "line 5"],
  ],
  [
    "the existing lines in a range that extends past the end of the text",
    { id, action: "read", startLine: 5, endLine: 99 },
    ["Lines 5 to 5 of 5.", "line 5"],
  ],
  [
    "a note for a range after the end of the text",
    { id, action: "read", startLine: 6, endLine: 9 },
    ["The text has 5 lines, so there are no lines from 6 to 9."],
  ],
  [
    "a note for a reversed range",
    { id, action: "read", startLine: 3, endLine: 2 },
    ["The text has 5 lines, so there are no lines from 3 to 2."],
  ],
  ["the first lines", { id, action: "head", lines: 2 }, ["Lines 1 to 2 of 5.", "line 1", "line 2"]],
  ["the last lines", { id, action: "tail", lines: 2 }, ["Lines 4 to 5 of 5.", "line 4", "line 5"]],
  [
    "all lines if fewer exist than requested",
    { id, action: "tail", lines: 9 },
    ["Lines 1 to 5 of 5.", ...numbered(5).split("\n")],
  ],
  ["the numbers of lines, bytes and tokens", { id, action: "stats" }, ["Lines: 5. Bytes: 34. Tokens: about 9."]],
  [
    "the lines that match a pattern",
    { id, action: "grep", pattern: "LINE [24]$", ignoreCase: true, startLine: 1 },
    ["2 matching lines in lines 1 to 5 of 5.", "2: line 2", "4: line 4"],
  ],
  [
    "matching lines from a start line",
    { id, action: "grep", pattern: "^line [24]", ignoreCase: false, startLine: 3 },
    ["1 matching line in lines 3 to 5 of 5.", "4: line 4"],
  ],
  [
    "no lines if nothing matches",
    { id, action: "grep", pattern: "LINE", ignoreCase: false, startLine: 1 },
    ["0 matching lines in lines 1 to 5 of 5."],
  ],
  [
    "the result of a plain text search if the pattern is invalid",
    { id, action: "grep", pattern: "line (", ignoreCase: false, startLine: 1 },
    [
      "0 matching lines in lines 1 to 5 of 5. The pattern cannot be read: Unterminated group, so grep searched for the pattern as plain text.",
    ],
  ],
])("lookUp: returns %s", async ([, request, answer]) => {
  expect((await look(numbered(5), request)).split("\n")).toEqual(answer);
});

it.for<[pattern: string, ignoreCase: boolean, found: string]>([
  ["(?<=a)b", false, "1: (?<=A)B(?<=a)b"],
  ["(?<=A)b", true, "1: (?<=A)B(?<=a)b"],
  [String.raw`(a)\1`, false, String.raw`2: (a)\1`],
])(
  "lookUp: searches for the pattern %s as plain text, because a regular expression could take more than linear time",
  async ([pattern, ignoreCase, found]) => {
    const text = ["(?<=A)B(?<=a)b", String.raw`(a)\1`].join("\n");
    const answer = await look(text, { id, action: "grep", pattern, ignoreCase, startLine: 1 });
    expect([linesOf(answer), answer.includes("so grep searched for the pattern as plain text")]).toEqual([[found], true]);
  },
);

describe("lookUp with long results", () => {
  const text = numbered(5_000);

  it("names the line where the next read starts, so that repeated reads return each line once", async () => {
    const read: string[] = [];
    let from: number | undefined = 1;
    while (from !== undefined) {
      const answer: string = await look(text, { id, action: "read", startLine: from, endLine: undefined });
      expect(countBytes(answer)).toBeLessThan(6_200);
      read.push(...linesOf(answer));
      const next = /continue with start_line (\d+)/.exec(answer)?.[1];
      from = next === undefined ? undefined : Number(next);
    }
    expect(read.join("\n")).toBe(text);
  });

  it("names the line where the next search starts, so that repeated searches return each match once", async () => {
    const found: string[] = [];
    let from: number | undefined = 1;
    while (from !== undefined) {
      const answer: string = await look(text, { id, action: "grep", pattern: "7$", ignoreCase: false, startLine: from });
      expect(countBytes(answer)).toBeLessThan(6_200);
      found.push(...linesOf(answer));
      const next = /continue with start_line (\d+)/.exec(answer)?.[1];
      from = next === undefined ? undefined : Number(next);
    }
    expect(found).toEqual(Array.from({ length: 500 }, (_, index) => `${index * 10 + 7}: line ${index * 10 + 7}`));
  });

  it("stops a search that takes too long", async () => {
    const slow = Array.from({ length: 2_000 }, () => "a".repeat(1_000)).join("\n");
    const answer = await look(slow, { id, action: "grep", pattern: "(a*)*(a|aa)*(a?){50}b", ignoreCase: true, startLine: 1 });
    const [, last = ""] =
      /^0 matching lines in lines 1 to (\d+) of 2000\. There may be more matches: continue with start_line/.exec(answer) ?? [];
    expect(Number(last)).toBeGreaterThan(1);
    expect(Number(last)).toBeLessThan(500);
  });
});
