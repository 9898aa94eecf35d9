import { describe, expect, it } from "vitest";
import { maxTimerMs } from "./signals.ts";
import { describeRule, isWithin, timeLimit } from "./errors/check-fields.ts";

const none = Number.POSITIVE_INFINITY;

describe("isWithin and describeRule", () => {
  it.for<[value: unknown, fits: boolean]>([
    [2, true],
    [5, true],
    [none, true],
    [1, false],
    [6, false],
    [2.5, false],
    [Number.NaN, false],
    [Number.NEGATIVE_INFINITY, false],
    ["3", false],
    [3n, false],
    [null, false],
  ])("apply the range 2 to 5: isWithin returns $1 for $0", ([value, fits]) => {
    expect(isWithin(value, { min: 2, max: 5 })).toBe(fits);
  });

  it("allow integers up to the largest safe integer if the rule has no maximum", () => {
    const rule = { min: 0 };
    expect([2 ** 53 - 1, 2 ** 53].map((value) => isWithin(value, rule))).toEqual([true, false]);
    expect(describeRule(rule)).toBe("a whole number of at least 0, or Infinity");
  });

  it("exclude Infinity if the rule has infinite: false", () => {
    const rule = { min: 1, max: 5, infinite: false as const };
    expect([5, none].map((value) => isWithin(value, rule))).toEqual([true, false]);
    expect(describeRule(rule)).toBe("a whole number from 1 to 5");
  });
});

describe("isWithin for a time limit", () => {
  it.for<[value: unknown]>([[1], [maxTimerMs], [none]])("accepts $0", ([value]) => {
    expect(isWithin(value, timeLimit)).toBe(true);
  });

  it.for<[value: unknown]>([[0], [-1], [0.5], [maxTimerMs + 1], ["5"], [undefined]])("rejects $0", ([value]) => {
    expect(isWithin(value, timeLimit)).toBe(false);
    expect(describeRule(timeLimit)).toBe("a whole number from 1 to 2147483647, or Infinity");
  });
});
