import { describe, expect, it } from "vitest";
import { Meter, type SharedLimits, type Spending } from "../meter.ts";
import { noReserve } from "../limits.ts";
import { NestedMeter } from "./nested-meter.ts";

const none = Number.POSITIVE_INFINITY;
const meter = (maxTokens: number, maxToolCalls: number, outer?: Meter): Meter => costly({ maxTokens, maxToolCalls }, outer);
const costly = (limits: Partial<SharedLimits>, outer?: Meter): Meter => {
  const all = { maxTokens: none, maxToolCalls: none, maxCostUSD: none, unknownCostEnds: true, reserve: noReserve, ...limits };
  return outer === undefined ? new Meter(all) : new NestedMeter(all, outer);
};
const spentOutside = (inner: Meter, costUSD: number): unknown => inner instanceof NestedMeter && inner.findSpentOutside(costUSD);

describe("Meter", () => {
  it("add() counts spending in the meter and its outer meters, but not in inner meters", () => {
    const outer = meter(100, 10);
    const inner = meter(50, 8, outer);
    const beside = meter(60, 9, outer);
    inner.add({ tokens: 20, toolCalls: 3 });
    expect([inner.tokensLeft, inner.toolCallsLeft]).toEqual([30, 5]);
    expect([outer.tokensLeft, outer.toolCallsLeft]).toEqual([80, 7]);
    expect([beside.tokensLeft, beside.toolCallsLeft]).toEqual([60, 7]);
    outer.add({ tokens: 45, toolCalls: 2 });
    expect([inner.tokensLeft, inner.toolCallsLeft, beside.tokensLeft]).toEqual([30, 5, 35]);
  });

  it.for<[title: string, limits: readonly [number, number][], left: readonly [number, number]]>([
    ["one run without limits", [[none, none]], [none, none]],
    ["one run with a token limit", [[7, none]], [7, none]],
    [
      "two nested runs with different limits",
      [
        [none, 5],
        [9, none],
      ],
      [9, 5],
    ],
    [
      "three nested runs with both limits each",
      [
        [1, 9],
        [2, 8],
        [3, 7],
      ],
      [1, 7],
    ],
  ])("tokensLeft and toolCallsLeft are the smallest amounts that the limits leave, for %s", ([, limits, left]) => {
    const innermost = limits.reduce<Meter | undefined>((outer, [tokens, calls]) => meter(tokens, calls, outer), undefined);
    expect([innermost?.tokensLeft, innermost?.toolCallsLeft]).toEqual(left);
  });

  it("tokensLeft and toolCallsLeft are 0, not negative, if the limits are exceeded", () => {
    const outer = meter(10, 2);
    const inner = meter(none, none, outer);
    inner.add({ tokens: 25, toolCalls: 3 });
    expect([outer.tokensLeft, outer.toolCallsLeft, inner.tokensLeft, inner.toolCallsLeft]).toEqual([0, 0, 0, 0]);
  });

  it("maxToolCalls is the smallest limit of a run and its outer runs, however many calls were made", () => {
    const inner = meter(none, 9, meter(none, 4, meter(none, 6, undefined)));
    inner.add({ tokens: 0, toolCalls: 3 });
    expect(inner.maxToolCalls).toBe(4);
    expect(meter(1, none).maxToolCalls).toBe(none);
  });

  it.for<[title: string, used: number, found: unknown]>([
    ["nothing below the outer token limit, whatever the inner limit is", 99, undefined],
    ["the outer token limit if this limit is reached", 100, { kind: "max-tokens", limit: 100, spent: 100 }],
    ["the outer token limit if this limit is exceeded", 250, { kind: "max-tokens", limit: 100, spent: 250 }],
  ])("findSpentOutside() returns %s", ([, used, found]) => {
    const inner = meter(1, none, meter(100, none, meter(1_000, none)));
    inner.add({ tokens: used, toolCalls: 0 });
    expect(spentOutside(inner, 0)).toEqual(found);
  });

  it("findSpentOutside() returns the exhausted limit of the nearest outer run", () => {
    const inner = meter(none, none, meter(none, none, meter(20, none, meter(10, none))));
    inner.add({ tokens: 15, toolCalls: 0 });
    expect(spentOutside(inner, 0)).toEqual({ kind: "max-tokens", limit: 10, spent: 15 });
    inner.add({ tokens: 5, toolCalls: 0 });
    expect(spentOutside(inner, 0)).toEqual({ kind: "max-tokens", limit: 20, spent: 20 });
  });

  it.for<[what: string, spent: Spending, next: number, found: unknown]>([
    ["nothing below the outer cost limit", { costUSD: 0.5 }, 0.5, undefined],
    [
      "the outer cost limit that the next stream would exceed",
      { costUSD: 0.5 },
      0.6,
      { kind: "max-cost", limitUSD: 1, spentUSD: 0.5, expectedUSD: 0.6 },
    ],
    [
      "the outer cost limit if this limit is exceeded",
      { costUSD: 1.5 },
      0,
      { kind: "max-cost", limitUSD: 1, spentUSD: 1.5, expectedUSD: 0 },
    ],
    ['"cost-unknown" if a cost is unknown', { costUnknown: true }, 0, { kind: "cost-unknown" }],
  ])("findSpentOutside() returns %s", ([, spent, next, found]) => {
    const inner = costly({}, costly({ maxCostUSD: 1 }, costly({})));
    inner.add(spent);
    expect(spentOutside(inner, next)).toEqual(found);
    expect(inner.costLeftUSD).toBe(Math.max(0, 1 - (spent.costUSD ?? 0)));
  });

  it("findSpentOutside() ignores unknown costs if no cost limit is set or unknown costs are allowed", () => {
    for (const outer of [costly({ maxCostUSD: 1, unknownCostEnds: false }), costly({})]) {
      const inner = costly({}, outer);
      inner.add({ costUnknown: true, costUSD: 0.25 });
      expect(spentOutside(inner, 0.25)).toBeUndefined();
    }
  });
});
