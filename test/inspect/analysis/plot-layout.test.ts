import { describe, expect, it } from "vitest";
import type { BudgetPoint } from "../../../src/inspect/analysis/run-totals.ts";
import { layOutPlot } from "../../../src/inspect/analysis/plot-layout.ts";

const point = (activeMs: number, tokens: number, costUSD?: number): BudgetPoint => ({
  ...{ label: "Iteration 0", iterations: 1, toolCalls: 0, activeMs, tokens, costUSD },
});

describe("layOutPlot", () => {
  it("plots the share of each limit on one axis, with a line at 100%", () => {
    const layout = layOutPlot({ points: [point(500, 50), point(1_000, 110)], limits: { tokens: 100, toolCalls: 5 } }, 580);
    expect(layout.curves.map(({ name, scale }) => [name, scale])).toEqual([
      ["tokens", "share"],
      ["toolCalls", "share"],
    ]);
    expect(layout.yTicks.map(({ label, side }) => `${side} ${label}`)).toEqual(["left 0%", "left 50%", "left 100%", "left 150%"]);
    expect(layout.xTicks.map(({ label }) => label)).toEqual(["0 ms", "500 ms", "1.00 s"]);
    expect(layout.limitY).toBe(layout.yTicks[2]?.y);
    expect([layout.xs, layout.right]).toEqual([[314, 564], 564]);
  });

  it("plots tokens and cost on two axes if there are no limits", () => {
    const layout = layOutPlot({ points: [point(10, 2_000), point(20, 4_000, 0.4)], limits: {} }, 600);
    expect(layout.curves.map(({ name, scale }) => [name, scale])).toEqual([
      ["tokens", "tokens"],
      ["costUSD", "cost"],
    ]);
    expect(layout.curves[1]?.path).toBe(`M64 ${layout.bottom}L${layout.right} ${layout.top}`);
    expect(layout.yTicks.filter(({ side }) => side === "right").at(-1)?.label).toBe("$0.4000");
    expect(layout.limitY).toBe(undefined);
  });

  it("returns finite positions for a run that has spent nothing", () => {
    const { xs, curves } = layOutPlot({ points: [point(0, 0)], limits: {} }, 200);
    expect([xs, curves.map(({ path }) => path)]).toEqual([[64], ["M64 196L64 196"]]);
  });
});
