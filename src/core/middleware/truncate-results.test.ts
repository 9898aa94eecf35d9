import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countBytes } from "../../shared/estimate-tokens.ts";
import { truncateResults, type TruncateResultsOptions } from "./truncate-results.ts";

const cut = (text: string, options: TruncateResultsOptions): unknown => truncateResults(options).processor("search", text);
const note = /\n\[\.\.\. (\d+) of (\d+) bytes left out here, about (\d+) tokens \.\.\.\]\n/;

it("truncateResults: leaves a short result unchanged", () => {
  expect(cut("x".repeat(200), { maxBytes: 200 })).toBeUndefined();
  expect(cut("x".repeat(200), { maxTokens: 50 })).toBeUndefined();
});

it("truncateResults: keeps the start and the end of a long result, with a note between them", () => {
  const shortened = cut(`${"a".repeat(300)}${"b".repeat(300)}`, { maxBytes: 200 });
  expect(shortened).toBe(`${"a".repeat(70)}\n[... 460 of 600 bytes left out here, about 115 tokens ...]\n${"b".repeat(70)}`);
});

it('truncateResults: keeps only the start of a long result with keep: "head"', () => {
  const shortened = cut(`${"a".repeat(300)}${"b".repeat(300)}`, { maxTokens: 50, keep: "head" });
  expect(shortened).toBe(`${"a".repeat(140)}\n[... 460 of 600 bytes left out here, about 115 tokens ...]\n`);
});

describe("truncateResults with any text", () => {
  const texts = fc.string({
    unit: fc.constantFrom("a", "\n", "é", "€", "😀", "👩‍👩‍👧"),
    minLength: 1,
    maxLength: 1_000,
    size: "max",
  });

  it("stays within the limit, reports the missing bytes, and never splits a character", () => {
    fc.assert(
      fc.property(
        texts,
        fc.integer({ min: 200, max: 900 }),
        fc.constantFrom("head" as const, "head-and-tail" as const),
        (text, maxBytes, keep) => {
          const shortened = cut(text, { maxBytes, keep });
          if (typeof shortened !== "string") {
            expect(countBytes(text)).toBeLessThanOrEqual(maxBytes);
            return;
          }
          const [gap = "", left, whole, tokens] = note.exec(shortened) ?? [];
          const [head = "", tail = ""] = shortened.split(gap);
          expect(countBytes(shortened)).toBeLessThanOrEqual(maxBytes);
          expect([text.startsWith(head), text.endsWith(tail), /\p{Surrogate}/u.test(shortened)]).toEqual([true, true, false]);
          expect([Number(left), Number(whole)]).toEqual([
            countBytes(text) - countBytes(head) - countBytes(tail),
            countBytes(text),
          ]);
          expect(Number(tokens)).toBe(Math.ceil(Number(left) / 4));
          expect(countBytes(head) + countBytes(tail)).toBeGreaterThan(maxBytes - 75);
        },
      ),
    );
  });
});

it.for<[what: string, options: unknown, option: string, code: string]>([
  ["options without a limit", {}, "options", "invalid-option"],
  ["both limits", { maxBytes: 300, maxTokens: 300 }, "options", "invalid-option"],
  ["too few bytes", { maxBytes: 199 }, "options.maxBytes", "invalid-option"],
  ["too few tokens", { maxTokens: 49 }, "options.maxTokens", "invalid-option"],
  ["a fraction of a token", { maxTokens: 99.5 }, "options.maxTokens", "invalid-option"],
  ["an unknown value of keep", { maxTokens: 99, keep: "tail" }, "options.keep", "invalid-option"],
  ["an unknown option", { maxToken: 99 }, "maxToken", "unknown-option"],
])("truncateResults: rejects %s", ([, options, option, code]) => {
  const last = option.replace("options.", "");
  expect(() => truncateResults(options as TruncateResultsOptions)).toThrow(
    expect.objectContaining({ code, details: expect.objectContaining({ option: last }) }),
  );
});
