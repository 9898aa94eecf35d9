import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { indexLines, linesFrom, linesOfRanges, type TextLines } from "./text-lines.ts";
import type { RangedText } from "./read-request.ts";

const numbered = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index + 1}`).join("\n");
const toLines = (text: string, first = 1): readonly string[] => [...linesFrom(text, indexLines(text), first)];

describe("linesFrom", () => {
  it.for<[what: string, text: string, lines: readonly string[]]>([
    ["a string at every kind of line ending", "a\r\nb\rc\nd", ["a", "b", "c", "d"]],
    ["an empty string into one empty line", "", [""]],
    ["leading and trailing line endings into empty lines", "\r\n\n\ra\r\n", ["", "", "", "a", ""]],
    ["no line of exactly 1,000 characters", "x".repeat(1_000), ["x".repeat(1_000)]],
    ["a line of more than 1,000 characters", "x".repeat(1_001), ["x".repeat(1_000), "x"]],
    [
      "a long line after a comma near the limit",
      `${"x".repeat(900)},${"y".repeat(200)}`,
      [`${"x".repeat(900)},`, "y".repeat(200)],
    ],
    [
      "a long line at the limit if the last comma is far from it",
      `x,${"y".repeat(1_098)}`,
      [`x,${"y".repeat(998)}`, "y".repeat(100)],
    ],
    ["a long line before an emoji, not within it", `x${"😀".repeat(500)}`, [`x${"😀".repeat(499)}`, "😀"]],
  ])("splits %s", ([, text, lines]) => {
    expect(toLines(text)).toEqual(lines);
  });

  it("begins at any given line", () => {
    const text = numbered(1_000);
    const all = text.split("\n");
    for (const first of [1, 2, 256, 257, 258, 512, 513, 999, 1_000]) expect(toLines(text, first)).toEqual(all.slice(first - 1));
    expect(toLines(text, 1_001)).toEqual([]);
    expect(toLines("a\n".repeat(255), 257)).toEqual([]);
  });

  it("keeps all text and produces no line longer than 1,000 characters", () => {
    const texts = fc.string({ unit: fc.constantFrom("a", ",", " ", "😀", "é"), maxLength: 5_000, size: "max" });
    fc.assert(
      fc.property(texts, (text) => {
        const lines = toLines(text);
        expect(lines.join("")).toBe(text);
        expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(1_000);
      }),
      { numRuns: 50 },
    );
  });
});

describe("linesOfRanges", () => {
  interface Ranges {
    readonly lines: TextLines;
    readonly reads: (readonly [offset: number, length: number])[];
  }

  function inRanges(text: string | Uint8Array, longest: number, signal: AbortSignal = new AbortController().signal): Ranges {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    const reads: (readonly [number, number])[] = [];
    const ranged: RangedText = {
      bytes: bytes.length,
      version: "1",
      read: async (offset, length) => {
        reads.push([offset, length]);
        return bytes.slice(offset, offset + length);
      },
      close: () => {},
    };
    return { reads, lines: linesOfRanges(ranged, { known: { blocks: [], isComplete: false }, signal }, longest) };
  }

  async function readFrom(lines: TextLines, first: number): Promise<readonly string[]> {
    const found: string[] = [];
    for await (const line of lines.from(first)) found.push(line);
    return found;
  }

  it("yields the same lines as a read from memory, for any block size and first line", async () => {
    const pieces = fc.array(fc.constantFrom("a", "bc", " ", "é", "😀", "\n", "\r\n", "\n\n"), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(pieces, fc.integer({ min: 300, max: 400 }), fc.nat({ max: 70 }), async (some, longest, first) => {
        const text = some.join("").repeat(20);
        // Skips long text without line breaks, because a block without one may break a line in a different place than `toLines`.
        fc.pre(text.includes("\n") || text.length < longest / 4);
        const { lines } = inRanges(text, longest);
        expect(await readFrom(lines, first + 1)).toEqual(toLines(text, first + 1));
        expect(await readFrom(lines, 1)).toEqual(toLines(text));
        expect([lines.count, lines.isCounted, await lines.countAll()]).toEqual([
          toLines(text).length,
          true,
          toLines(text).length,
        ]);
      }),
      { numRuns: 200 },
    );
  });

  it("keeps every character of a long line at the edge of a block", async () => {
    const texts = fc.string({ unit: fc.constantFrom("a", ",", "é", "😀", "€"), maxLength: 2_000, size: "max" });
    await fc.assert(
      fc.asyncProperty(texts, fc.integer({ min: 8, max: 50 }), async (text, longest) => {
        expect((await readFrom(inRanges(text, longest).lines, 1)).join("")).toBe(text);
      }),
      { numRuns: 100 },
    );
  });

  it("reads text to its end even if some bytes are not valid UTF-8", async () => {
    const { lines } = inRanges(new Uint8Array(100).fill(0x80), 8);
    expect((await readFrom(lines, 1)).join("")).toBe("\uFFFD".repeat(100));
  });

  it("reads only the blocks that contain the requested lines", async () => {
    const { lines, reads } = inRanges(numbered(10_000), 1_000);
    for await (const line of lines.from(1)) if (line === "line 20") break;
    expect([reads.length, lines.isCounted]).toEqual([1, false]);
    expect(await lines.countAll()).toBe(10_000);
    const before = reads.length;
    for await (const line of lines.from(9_000)) {
      expect(line).toBe("line 9000");
      break;
    }
    expect(reads.length).toBe(before + 1);
  });

  it("counts the same lines in concurrent reads", async () => {
    const { lines } = inRanges(numbered(5_000), 1_000);
    expect(await Promise.all([lines.countAll(), lines.countAll(), readFrom(lines, 4_999)])).toEqual([
      5_000,
      5_000,
      ["line 4999", "line 5000"],
    ]);
  });

  it("stops at the end of text that was truncated during the read", async () => {
    const { lines } = inRanges(numbered(100), 200);
    const ranged: RangedText = { bytes: 1e9, version: "1", read: async () => new Uint8Array(0), close: () => {} };
    const cut = linesOfRanges(ranged, { known: { blocks: [], isComplete: false }, signal: new AbortController().signal });
    expect([await cut.countAll(), await lines.countAll()]).toEqual([1, 100]);
  });

  it("stops when the signal is aborted", async () => {
    const { lines } = inRanges(numbered(100), 200, AbortSignal.abort(new Error("Stopped.")));
    await expect(lines.countAll()).rejects.toThrow("Stopped.");
  });
});
