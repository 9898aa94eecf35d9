// Plots what a run has spent over its active time, beside its limits.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type BudgetName, type BudgetPoint, budgetNames, type BudgetSeries, budgetSeriesOf } from "../analysis/budget-series.ts";
import { formatCount, formatMs, formatUSD } from "../analysis/format-texts.ts";
import type { LoggedRun } from "../log/run-log.ts";
import { LazyFold } from "./lazy-fold.tsx";
import "./budget-plot.css";

interface BudgetFacts {
  readonly label: string;
  /** The name of the custom property with the colour. */
  readonly color: string;
  format(value: number): string;
}

const budgets: { readonly [Name in BudgetName]: BudgetFacts } = {
  tokens: { label: "Tokens", color: "--stream", format: formatCount },
  costUSD: { label: "Cost", color: "--ok", format: formatUSD },
  iterations: { label: "Iterations", color: "--accent", format: formatCount },
  toolCalls: { label: "Calls", color: "--tool", format: formatCount },
  activeMs: { label: "Active time", color: "--wait", format: formatMs },
};

interface Plotted {
  readonly name: BudgetName;
  readonly scale: "share" | "tokens" | "cost";
  readonly values: readonly (number | null)[];
}

/** The plot needs as many points as it has pixels. */
const mostPoints = 2_000;

export function BudgetPlot({ run }: { readonly run: LoggedRun }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const series = useMemo(() => budgetSeriesOf(run), [run, run.lines.length]);
  const plotted = useMemo(() => choosePlotted(series), [series]);
  const isDark = useDarkMode();
  useEffect(() => {
    const element = box.current;
    if (element === null || series.points.length === 0) return undefined;
    const seconds = series.points.map(({ activeMs }) => activeMs / 1_000);
    const plot = new uPlot(createOptions(element, plotted), [seconds, ...plotted.map(({ values }) => [...values])], element);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: plotHeight }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [series, plotted, isDark]);
  if (series.points.length === 0) return <p class="budget-plot">No iteration has ended yet.</p>;
  const hasShares = plotted.some(({ scale }) => scale === "share");
  return (
    <section class="budget-plot" aria-label="Budgets">
      <p class="note">
        {hasShares ? "Share of each limit over the active time." : "The run has no limits. Amounts over the active time."}
      </p>
      <div class="plot" ref={box} role="img" aria-label="Plot of the numbers in the table below" />
      <LazyFold title="Numbers of the plot">{() => <BudgetTable series={series} />}</LazyFold>
    </section>
  );
}

/** Plots the share of each limit, or tokens and cost if the run has no limits. */
function choosePlotted({ points, limits }: BudgetSeries): readonly Plotted[] {
  const limited = budgetNames.flatMap((name): Plotted[] => {
    const limit = limits[name];
    if (limit === undefined) return [];
    return [{ name, scale: "share", values: points.map((point) => shareOf(point[name], limit)) }];
  });
  if (limited.length > 0) return limited;
  const valuesOf = (name: BudgetName): Plotted["values"] => points.map((point) => point[name] ?? null);
  const hasCost = points.some(({ costUSD }) => costUSD !== undefined);
  const cost: readonly Plotted[] = hasCost ? [{ name: "costUSD", scale: "cost", values: valuesOf("costUSD") }] : [];
  return [{ name: "tokens", scale: "tokens", values: valuesOf("tokens") }, ...cost];
}

function shareOf(value: number | undefined, limit: number): number | null {
  return value === undefined ? null : (100 * value) / limit;
}

const plotHeight = 220;

/** Leaves some room above the highest value. */
const fromZero: uPlot.Range.Function = (_plot, _lowest, highest) => [0, highest > 0 ? highest * 1.05 : 1];

function createOptions(element: HTMLElement, plotted: readonly Plotted[]): uPlot.Options {
  const style = getComputedStyle(element);
  const colorOf = (name: string): string => style.getPropertyValue(name).trim() || style.color;
  const axis = {
    stroke: colorOf("--muted"),
    grid: { stroke: colorOf("--line"), width: 1 },
    ticks: { stroke: colorOf("--line") },
  };
  const scales = [...new Set(plotted.map(({ scale }) => scale))];
  const formats = { share: (value: number) => `${value} %`, tokens: formatCount, cost: formatUSD };
  const axes = scales.map((scale, at): uPlot.Axis => ({
    ...axis,
    scale,
    side: at === 0 ? 3 : 1,
    size: 72,
    values: (_plot, splits) => splits.map(formats[scale]),
    grid: { ...axis.grid, show: at === 0 },
  }));
  const formatShare = (value: number): string => `${value.toFixed(1)} %`;
  return {
    width: element.clientWidth,
    height: plotHeight,
    scales: { x: { time: false }, ...Object.fromEntries(scales.map((scale) => [scale, { range: fromZero }])) },
    axes: [{ ...axis, values: (_plot, splits) => splits.map((seconds) => formatMs(seconds * 1_000)), space: 80 }, ...axes],
    series: [
      { label: "Active time", value: (_plot, seconds) => (seconds === null ? "" : formatMs(seconds * 1_000)) },
      ...plotted.map(({ name, scale }): uPlot.Series => {
        const { label, color, format } = budgets[name];
        const show = scale === "share" ? formatShare : format;
        return { label, scale, stroke: colorOf(color), width: 1.5, value: (_plot, value) => (value === null ? "" : show(value)) };
      }),
    ],
  };
}

/** Returns true while the page has dark colours. A canvas does not follow them by itself. */
function useDarkMode(): boolean {
  const [isDark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const listen = (): void => setDark(query.matches);
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, []);
  return isDark;
}

function BudgetTable({ series: { points, limits } }: { readonly series: BudgetSeries }): JSX.Element {
  const shown = points.slice(-mostPoints);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Numbers of the plot">
      <table>
        <thead>
          <tr>
            <th scope="col">Iteration</th>
            {budgetNames.map((name) => (
              <th key={name} scope="col">
                {budgets[name].label}
                {limits[name] !== undefined && `, limit ${budgets[name].format(limits[name])}`}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((point, at) => (
            <BudgetRow key={at} point={point} limits={limits} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface BudgetRowProps {
  readonly point: BudgetPoint;
  readonly limits: BudgetSeries["limits"];
}

function BudgetRow({ point, limits }: BudgetRowProps): JSX.Element {
  return (
    <tr>
      <th scope="row">{point.iteration}</th>
      {budgetNames.map((name) => {
        const [value, limit] = [point[name], limits[name]];
        return (
          <td key={name}>
            {value === undefined ? "" : budgets[name].format(value)}
            {value !== undefined && limit !== undefined && <span class="share"> {((100 * value) / limit).toFixed(1)} %</span>}
          </td>
        );
      })}
    </tr>
  );
}
