import { describe, expect, it } from "vitest";
import { layoutAxis } from "../../../src/inspect/ui/model/time-axis.ts";

const second = 1000;
const day = 24 * 3600 * second;
const round = (position: number): number => Number(position.toFixed(3));

describe("the inspect page's time axis", () => {
  it("is proportional to time if there are no gaps", () => {
    const axis = layoutAxis([{ from: 1000, to: 5000 }], { from: 1000, to: 5000 });
    expect(axis.gaps).toEqual([]);
    expect([0, 1000, 2000, 3000, 5000, 9000].map(axis.position)).toEqual([0, 0, 0.25, 0.5, 1, 1]);
    expect(axis.ticks.map(({ ms, position }) => [ms, position])).toEqual([
      [0, 0],
      [1000, 0.25],
      [2000, 0.5],
      [3000, 0.75],
    ]);
  });

  it("does not shorten gaps that are short in absolute terms or compared to the intervals around them", () => {
    const busy = [
      { from: 0, to: 10_000 },
      { from: 11_900, to: 20_000 },
    ];
    expect(layoutAxis(busy, { from: 0, to: 20_000 }).gaps).toEqual([]);
    expect(
      layoutAxis(
        [
          { from: 0, to: 10 },
          { from: 900, to: 910 },
        ],
        { from: 0, to: 910 },
      ).gaps,
    ).toEqual([]);
  });

  it("shortens a gap of several days and labels the gap with its length", () => {
    const resumed = 3 * day;
    const busy = [
      { from: 0, to: 1000 },
      { from: resumed, to: resumed + 1000 },
    ];
    const axis = layoutAxis(busy, { from: 0, to: resumed + 1000 });
    const [gap, ...others] = axis.gaps;
    expect(others).toEqual([]);
    expect(gap).toMatchObject({ from: 1000, to: resumed, position: 0.5 });
    expect([1000, resumed].map((at) => round(axis.position(at)))).toEqual([0.472, 0.528]);
    expect(axis.ticks.map(({ ms, isAfterGap }) => [ms, isAfterGap])).toEqual([
      [0, false],
      [500, false],
      [500, true],
    ]);
  });

  it("joins overlapping intervals, and ignores intervals outside the range of the axis", () => {
    const busy = [
      { from: -5000, to: 2000 },
      { from: 500, to: 1500 },
      { from: 1800, to: 4000 },
      { from: 9000, to: 9500 },
    ];
    const axis = layoutAxis(busy, { from: 0, to: 4000 });
    expect(axis.gaps).toEqual([]);
    expect([1000, 2000, 4000].map(axis.position)).toEqual([0.25, 0.5, 1]);
  });

  it("shortens the idle time at the start and at the end", () => {
    const axis = layoutAxis([{ from: day, to: day + 1000 }], { from: 0, to: 3 * day });
    expect(axis.gaps.map(({ from, to }) => [from, to])).toEqual([
      [0, day],
      [day + 1000, 3 * day],
    ]);
  });

  it("has no ticks and places everything at 0 if no time passes", () => {
    const axis = layoutAxis([{ from: 7, to: 7 }], { from: 7, to: 7 });
    expect([axis.position(7), axis.position(8), axis.ticks, axis.gaps]).toEqual([0, 0, [], []]);
  });

  it("is monotonic even with 200 intervals", () => {
    const busy = Array.from({ length: 200 }, (_, n) => ({ from: n * 60_000, to: n * 60_000 + 700 }));
    const axis = layoutAxis(busy, { from: 0, to: 200 * 60_000 });
    const positions = Array.from({ length: 2000 }, (_, n) => axis.position(n * 6000));
    expect(positions).toEqual(positions.toSorted((one, other) => one - other));
    expect(positions.every((position) => position >= 0 && position <= 1)).toBe(true);
  });
});
