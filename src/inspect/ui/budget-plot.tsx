import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type BudgetName, budgetNames, type BudgetPoint, type BudgetSeries, budgetSeriesOf } from "../analysis/run-totals.ts";
import { formatCount, formatMs, formatShare, formatUSD } from "../format.ts";
import { type Curve, layOutPlot, plotHeight, type PlotLayout } from "../analysis/plot-layout.ts";
import type { LoggedRun } from "../../shared/run-log.ts";
import { LazyFold } from "./shared-parts.tsx";
import "./budget-plot.css";

interface BudgetFacts {
  readonly label: string;
  readonly className: string;
  format(value: number): string;
}

const budgets: { readonly [Name in BudgetName]: BudgetFacts } = {
  tokens: { label: "Tokens", className: "tokens-color", format: formatCount },
  costUSD: { label: "Cost", className: "cost-color", format: formatUSD },
  iterations: { label: "Iterations", className: "iterations-color", format: formatCount },
  toolCalls: { label: "Calls", className: "calls-color", format: formatCount },
  activeMs: { label: "Active time", className: "time-color", format: formatMs },
};

export function BudgetPlot({ run }: { readonly run: LoggedRun }): JSX.Element {
  const [box, width] = useWidth();
  const [at, setAt] = useState<number | undefined>(undefined);
  const series = useMemo(() => budgetSeriesOf(run), [run, run.lines.length]);
  const layout = useMemo(() => layOutPlot(series, width), [series, width]);
  if (series.points.length === 0) return <p class="budget-plot">No iteration has ended yet.</p>;
  const point = series.points[at ?? -1] ?? series.points.at(-1);
  const hasShares = layout.curves.some(({ scale }) => scale === "share");
  const follow = ({ offsetX }: PointerEvent): void => setAt(findNearest(layout.xs, offsetX));
  return (
    <section class="budget-plot" aria-label="Budgets">
      <p class="about">
        {hasShares
          ? "The share of each limit that the run used, over its active time."
          : "The run has no limits. Its usage, over its active time."}
      </p>
      <div ref={box} onPointerMove={follow} onPointerLeave={() => setAt(undefined)}>
        <Plot layout={layout} at={at} />
      </div>
      {point !== undefined && <Legend curves={layout.curves} point={point} limits={series.limits} />}
      <LazyFold title="Values of the plot">{() => <BudgetTable series={series} />}</LazyFold>
    </section>
  );
}

/** Returns a ref, and the width of its element, which changes with the window. */
function useWidth(): readonly [ref: { current: HTMLDivElement | null }, width: number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void => setWidth(Math.max(element.clientWidth, 200));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [box, width];
}

function findNearest(xs: readonly number[], x: number): number {
  return xs.reduce((best, each, at) => (Math.abs(each - x) < Math.abs((xs[best] ?? 0) - x) ? at : best), 0);
}

interface PlotProps {
  readonly layout: PlotLayout;
  readonly at: number | undefined;
}

function Plot({ layout: { width, left, right, top, bottom, xTicks, yTicks, limitY, curves, xs }, at }: PlotProps): JSX.Element {
  const x = at === undefined ? undefined : xs[at];
  return (
    <svg viewBox={`0 0 ${width} ${plotHeight}`} role="img" aria-label="Plot of the values in the table below">
      {yTicks.map(({ y, label, side }) => (
        <g key={`${side} ${y}`}>
          {side === "left" && <line class="grid" x1={left} x2={right} y1={y} y2={y} />}
          <text x={side === "left" ? left - 6 : right + 6} y={y + 4} text-anchor={side === "left" ? "end" : "start"}>
            {label}
          </text>
        </g>
      ))}
      {xTicks.map(({ x: tick, label }) => (
        <text key={tick} x={tick} y={bottom + 16} text-anchor="middle">
          {label}
        </text>
      ))}
      {limitY !== undefined && <line class="limit" x1={left} x2={right} y1={limitY} y2={limitY} />}
      {curves.map(({ name, path }) => (
        <path key={name} class={`curve ${budgets[name].className}`} d={path} />
      ))}
      {x !== undefined && <line class="cursor" x1={x} x2={x} y1={top} y2={bottom} />}
    </svg>
  );
}

interface LegendProps {
  readonly curves: readonly Curve[];
  readonly point: BudgetPoint;
  readonly limits: BudgetSeries["limits"];
}

/** Shows the amounts at the pointer, or the final amounts while the pointer is elsewhere. */
function Legend({ curves, point, limits }: LegendProps): JSX.Element {
  return (
    <ul class="legend">
      <li>
        {point.label}, {formatMs(point.activeMs)}
      </li>
      {curves.map(({ name }) => (
        <li key={name}>
          <i class={budgets[name].className} />
          {budgets[name].label} <Amount name={name} point={point} limits={limits} />
        </li>
      ))}
    </ul>
  );
}

interface AmountProps extends Omit<LegendProps, "curves"> {
  readonly name: Curve["name"];
}

function Amount({ name, point, limits }: AmountProps): JSX.Element | null {
  const [value, limit] = [point[name], limits[name]];
  if (value === undefined) return null;
  return (
    <>
      {budgets[name].format(value)}
      {limit !== undefined && <span class="share"> {formatShare(value / limit)}</span>}
    </>
  );
}

/** The maximum number of iterations in the table. More rows would make browsers slow, so only the last ones are shown. */
const maxRows = 2_000;

function BudgetTable({ series: { points, limits } }: { readonly series: BudgetSeries }): JSX.Element {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Values of the plot">
      <table>
        <thead>
          <tr>
            <th scope="col">After</th>
            {budgetNames.map((name) => (
              <th key={name} scope="col">
                {budgets[name].label}
                {limits[name] !== undefined && `, limit ${budgets[name].format(limits[name])}`}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {points.slice(-maxRows).map((point, at) => (
            <tr key={at}>
              <th scope="row">{point.label}</th>
              {budgetNames.map((name) => (
                <td key={name} class="number">
                  <Amount name={name} point={point} limits={limits} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
