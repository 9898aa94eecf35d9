import { formatCount, formatMs, formatShare, formatUSD } from "../format.ts";
import { type BudgetName, budgetNames, type BudgetPoint, type BudgetSeries } from "./run-totals.ts";

type Scale = "share" | "tokens" | "cost";

/** A curve in the budget plot. Its path begins at the left edge, at 0. */
export interface Curve {
  readonly name: BudgetName;
  /** The axis that the curve uses. The "share" axis shows percentages of a limit. */
  readonly scale: Scale;
  readonly path: string;
}

export interface PlotLayout {
  readonly width: number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  /** The x position of each point in the series. */
  readonly xs: readonly number[];
  readonly xTicks: readonly { readonly x: number; readonly label: string }[];
  readonly yTicks: readonly { readonly y: number; readonly label: string; readonly side: "left" | "right" }[];
  /** The y position of 100%, if the plot reaches it. */
  readonly limitY: number | undefined;
  readonly curves: readonly Curve[];
}

export const plotHeight = 220;

const margin = { top: 8, bottom: 24, side: 64 };

interface Axis {
  readonly scale: Scale;
  readonly side: "left" | "right";
  readonly highest: number;
  readonly step: number;
}

interface Source {
  readonly name: BudgetName;
  readonly scale: Scale;
  readonly values: readonly (number | undefined)[];
}

/** Plots the share of each limit, or tokens and cost on two axes if the run has no limits. */
export function layOutPlot(series: BudgetSeries, width: number): PlotLayout {
  const sources = chooseSources(series);
  const scales = [...new Set(sources.map(({ scale }) => scale))];
  const axes = scales.map((scale, at) => toAxis(scale, at === 0 ? "left" : "right", sources));
  const [left, top, bottom] = [margin.side, margin.top, plotHeight - margin.bottom];
  const right = width - (axes.length > 1 ? margin.side : 16);
  const lastMs = Math.max(series.points.at(-1)?.activeMs ?? 0, 1);
  const time = { highest: lastMs, step: roundUp(lastMs, Math.max(2, Math.floor(width / 140))).step };
  const toX = (ms: number): number => round(left + ((right - left) * ms) / time.highest);
  const toY = (value: number, { highest }: Axis): number => round(bottom - ((bottom - top) * value) / highest);
  const xs = series.points.map(({ activeMs }) => toX(activeMs));
  const curves = sources.flatMap(({ name, scale, values }): Curve[] => {
    const axis = axes.find((one) => one.scale === scale);
    if (axis === undefined) return [];
    const steps = values.map((value, at) => (value === undefined ? "" : `L${xs[at]} ${toY(value, axis)}`));
    return [{ name, scale, path: `M${left} ${bottom}${steps.join("")}` }];
  });
  const yTicks = axes.flatMap((axis) =>
    ticksOf(axis).map((value) => ({ y: toY(value, axis), label: formats[axis.scale](value), side: axis.side })),
  );
  const share = axes.find(({ scale, highest }) => scale === "share" && highest >= 100);
  return {
    ...{ width, left, right, top, bottom, xs, curves, yTicks },
    xTicks: ticksOf(time).map((ms) => ({ x: toX(ms), label: formatMs(ms) })),
    limitY: share && toY(100, share),
  };
}

function chooseSources({ points, limits }: BudgetSeries): readonly Source[] {
  const valuesOf = (name: BudgetName): readonly BudgetPoint[BudgetName][] => points.map((point) => point[name]);
  const limited = budgetNames.flatMap((name): Source[] => {
    const limit = limits[name];
    if (limit === undefined) return [];
    return [{ name, scale: "share", values: valuesOf(name).map((value) => value && (100 * value) / limit) }];
  });
  if (limited.length > 0) return limited;
  const costs = valuesOf("costUSD");
  const cost: readonly Source[] = costs.some((value) => value !== undefined)
    ? [{ name: "costUSD", scale: "cost", values: costs }]
    : [];
  return [{ name: "tokens", scale: "tokens", values: valuesOf("tokens") }, ...cost];
}

const formats: { readonly [Each in Scale]: (value: number) => string } = {
  share: (value) => formatShare(value / 100),
  tokens: formatCount,
  cost: formatUSD,
};

const yTickCount = 4;

function toAxis(scale: Scale, side: "left" | "right", sources: readonly Source[]): Axis {
  const values = sources.filter((source) => source.scale === scale).flatMap((source) => source.values);
  const highest = values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  return { scale, side, ...roundUp(highest, yTickCount) };
}

/** Returns a round step for an axis, and the smallest multiple of it that is not less than the value. */
function roundUp(value: number, count: number): Pick<Axis, "highest" | "step"> {
  if (!(value > 0)) return { highest: 1, step: 1 };
  const rough = value / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  return { highest: step * Math.ceil(value / step), step };
}

function ticksOf({ highest, step }: Pick<Axis, "highest" | "step">): readonly number[] {
  return Array.from({ length: Math.floor(highest / step + 1e-9) + 1 }, (_item, at) => at * step);
}

const round = (pixels: number): number => Math.round(pixels * 10) / 10;
