import type { JSX, RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { waitNames } from "../analysis/waits.ts";
import { formatMs, showControls } from "../format.ts";
import { isWork, type Row, type SegmentKind } from "./model/rows.ts";
import { type Interval, layoutAxis, type TimeAxis } from "./model/time-axis.ts";
import { useViewChanges } from "./use-measured-list.ts";

const rowHeight = 22;
const axisHeight = 28;
const overscan = 8;
const nearRows = 3;
/** The minimum distance between two ticks, in pixels. */
const tickWidth = 64;

interface TimelineProps {
  /** All rows, including those that are folded away. They determine the time axis of the whole run. */
  readonly rows: readonly Row[];
  readonly shown: readonly Row[];
  readonly range: Interval;
  readonly selected: string;
  /** The keys of entries with search hits. */
  readonly found: ReadonlySet<string>;
  isOpen(key: string): boolean;
  toggle(key: string): void;
  select(key: string): void;
}

export function Timeline({ rows, shown, range, selected, found, ...actions }: TimelineProps): JSX.Element {
  const [zoom, setZoom] = useState<boolean>();
  const isZoomed = zoom ?? shown.length > 60;
  const scroller = useRef<HTMLDivElement>(null);
  const { first, end, width } = useVisibleRows(scroller);
  const index = shown.findIndex(({ key }) => key === selected);
  useEffect(() => {
    if (index >= 0 && scroller.current !== null) scrollToRow(scroller.current, index);
  }, [selected, index >= 0]);
  const axis = useAxis(isZoomed ? shown.slice(first, end) : rows, {
    range: isZoomed ? undefined : range,
    tickShare: tickWidth / Math.max(1, width * 0.62 - 74),
  });
  const firstRendered = Math.max(0, first - overscan);
  return (
    <section class="timeline" aria-label="Timeline">
      <div class="rows" ref={scroller}>
        <Axis axis={axis} isZoomed={isZoomed} setZoom={setZoom} />
        <div
          role="tree"
          aria-label="Streams and calls"
          tabIndex={0}
          aria-activedescendant={index >= 0 ? `row-${index}` : undefined}
          style={{ height: `${shown.length * rowHeight}px` }}
        >
          {shown.slice(firstRendered, end + overscan).map((row, at) => {
            const place = firstRendered + at;
            const state = { id: `row-${place}`, isSelected: row.key === selected, isFound: found.has(row.entryKey) };
            return <RowView key={row.key} row={row} top={place * rowHeight} axis={axis} state={state} {...actions} />;
          })}
        </div>
        <div class="grid-lines" aria-hidden="true">
          <div>
            {axis.gaps.map(({ position, from }) => (
              <i key={from} class="gap" style={{ left: `${position * 100}%` }} />
            ))}
          </div>
        </div>
      </div>
      <Legend rows={rows} />
    </section>
  );
}

interface VisibleRows {
  readonly first: number;
  readonly end: number;
  readonly width: number;
}

/** Computes the visible rows from the scroll position. This works because all rows have the same height. */
function useVisibleRows(scroller: RefObject<HTMLDivElement | null>): VisibleRows {
  const [rows, setRows] = useState<VisibleRows>({ first: 0, end: 0, width: 500 });
  useViewChanges(scroller, ({ scrollTop, clientHeight, clientWidth: width }) => {
    const first = Math.floor(scrollTop / rowHeight);
    const end = Math.ceil((scrollTop + clientHeight - axisHeight) / rowHeight);
    if (first !== rows.first || end !== rows.end || width !== rows.width) setRows({ first, end, width });
  });
  return rows;
}

function scrollToRow(scroller: HTMLElement, index: number): void {
  const height = scroller.clientHeight - axisHeight;
  const [top, bottom] = [(index - nearRows) * rowHeight, (index + 1 + nearRows) * rowHeight];
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (bottom > scroller.scrollTop + height) scroller.scrollTop = bottom - height;
}

interface AxisShape {
  readonly range: Interval | undefined;
  readonly tickShare: number;
}

/** Creates the time axis for rows. Without `range`, the axis covers the times of the rows. */
function useAxis(rows: readonly Row[], { range, tickShare }: AxisShape): TimeAxis {
  const first = rows[0]?.key;
  return useMemo(() => {
    const segments = rows.flatMap(({ segments, inner }) => [...segments, ...inner]);
    const whole = range ?? {
      from: segments.reduce((least, { from }) => Math.min(least, from), Infinity),
      to: segments.reduce((most, { to }) => Math.max(most, to), -Infinity),
    };
    return layoutAxis(segments.filter(isWork), whole.from <= whole.to ? whole : { from: 0, to: 0 }, tickShare);
  }, [range === undefined ? first : rows, range === undefined ? rows.length : range.to, range?.from, lastEnd(rows), tickShare]);
}

function lastEnd(rows: readonly Row[]): number {
  return rows.at(-1)?.segments.at(-1)?.to ?? 0;
}

interface AxisProps {
  readonly axis: TimeAxis;
  readonly isZoomed: boolean;
  setZoom(isZoomed: boolean): void;
}

function Axis({ axis, isZoomed, setZoom }: AxisProps): JSX.Element {
  return (
    <div class="axis">
      <button type="button" title="Change the range of the time axis" aria-pressed={isZoomed} onClick={() => setZoom(!isZoomed)}>
        {isZoomed ? "Visible rows" : "Whole run"}
      </button>
      <div class="ticks">
        {axis.ticks.map(({ position, ms, isAfterGap }) => (
          <span key={position} style={{ left: `${position * 100}%` }}>
            {isAfterGap ? "+" : ""}
            {formatTick(ms)}
          </span>
        ))}
        {axis.gaps.map(({ position, from, to }) => (
          <b key={from} style={{ left: `${position * 100}%` }} title="Shortened: nothing was running in this time">
            {formatMs(to - from)}
          </b>
        ))}
      </div>
      <span class="ms" title="Of a stream or a call, as in the transcript">
        duration
      </span>
    </div>
  );
}

/** Formats the time of a tick. Removes trailing zeros, because ticks are at round times. */
function formatTick(ms: number): string {
  if (ms === 0) return "0";
  return formatMs(ms)
    .replace(/\.?0+ s$/, " s")
    .replace(/ 0 (s|min|h)$/, "");
}

interface RowProps extends Pick<TimelineProps, "isOpen" | "toggle" | "select"> {
  readonly row: Row;
  readonly top: number;
  readonly axis: TimeAxis;
  readonly state: { readonly id: string; readonly isSelected: boolean; readonly isFound: boolean };
}

function RowView({ row, top, axis, state, isOpen, toggle, select }: RowProps): JSX.Element {
  const { key, kind, label, note, tone, parents, canFold, ms } = row;
  const open = canFold ? isOpen(key) : undefined;
  const segments = open === false ? [...row.segments, ...row.inner] : row.segments;
  return (
    <div
      id={state.id}
      role="treeitem"
      class={`row ${kind}`}
      aria-level={parents.length + 1}
      aria-expanded={open}
      aria-selected={state.isSelected}
      title={describeRow(row)}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => select(key)}
    >
      <span class="label" style={{ paddingLeft: `${Math.min(parents.length, 8) * 12}px` }}>
        <span
          class="twisty"
          aria-hidden="true"
          onClick={(event) => {
            if (!canFold) return;
            event.stopPropagation();
            toggle(key);
          }}
        >
          {open === undefined ? "" : open ? "▾" : "▸"}
        </span>
        <span class="name">{showControls(label)}</span>
        {note !== "" && <span class={`note tone-${tone}`}>{showControls(note)}</span>}
        {state.isFound && <span class="found" title="Has search hits" />}
      </span>
      <span class="bars" aria-hidden="true">
        {segments.map(({ kind: part, from, to }, index) => {
          const left = axis.position(from);
          const width = axis.position(to) - left;
          return <i key={index} class={`bar ${part}`} style={{ left: `${left * 100}%`, width: `${width * 100}%` }} />;
        })}
      </span>
      <span class="ms">{ms === undefined ? "" : formatMs(ms)}</span>
    </div>
  );
}

const words: { readonly [Kind in SegmentKind]: string } = {
  first: "to the first token",
  stream: "streaming",
  lost: "discarded attempt",
  tool: "tool",
  nested: "nested run",
  ...waitNames,
};

function describeRow({ label, note, wholeNote = note, segments }: Row): string {
  const parts = segments.map(({ kind, from, to }) => `${words[kind]} ${formatMs(to - from)}`);
  return [showControls(label), ...(wholeNote === "" ? [] : [showControls(wholeNote)]), ...parts].join("\n");
}

function Legend({ rows }: Pick<TimelineProps, "rows">): JSX.Element {
  const kinds = useMemo(() => new Set<string>(rows.flatMap(({ segments }) => segments.map(({ kind }) => kind))), [rows]);
  return (
    <ul class="legend" aria-label="Legend">
      {Object.entries(words)
        .filter(([kind]) => kinds.has(kind))
        .map(([kind, word]) => (
          <li key={kind}>
            <i class={`bar ${kind}`} />
            {word}
          </li>
        ))}
    </ul>
  );
}
