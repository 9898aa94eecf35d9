// Places times on an axis. Shortens long gaps without work, such as days of waiting for an approval.

import { waitNames } from "../../analysis/waits.ts";
import { formatMs } from "../../format.ts";
import type { Row, SegmentKind } from "./rows.ts";

export interface Interval {
  readonly from: number;
  readonly to: number;
}

interface AxisGap extends Interval {
  /** The middle of the gap on the axis, from 0 to 1. */
  readonly position: number;
}

/** A tick at a round distance from the start of the axis, or from the end of the last gap. */
interface AxisTick {
  readonly position: number;
  readonly ms: number;
  readonly isAfterGap: boolean;
}

export interface TimeAxis {
  readonly gaps: readonly AxisGap[];
  /** Returns the position of a time, from 0 to 1. Times outside the axis are clamped to its ends. */
  position(at: number): number;
  readonly ticks: readonly AxisTick[];
}

/**
 * The minimum length of a gap that is shortened, in milliseconds. It must also be longer than `longShare` of the time in which something is
 * running.
 */
const longMs = 1000;
const longShare = 0.2;
/** The width of a shortened gap, as a share of the time in which something is running. */
const gapShare = 0.06;

function joinIntervals(intervals: readonly Interval[]): readonly Interval[] {
  const joined: { from: number; to: number }[] = [];
  for (const { from, to } of intervals.toSorted((one, other) => one.from - other.from)) {
    const last = joined.at(-1);
    if (last === undefined || from > last.to) joined.push({ from, to: Math.max(from, to) });
    else last.to = Math.max(last.to, to);
  }
  return joined;
}

function lengthOf(intervals: readonly Interval[]): number {
  return intervals.reduce((sum, { from, to }) => sum + to - from, 0);
}

interface Stretch extends Interval {
  readonly isGap: boolean;
  readonly width: number;
}

function toStretches(busy: readonly Interval[], range: Interval): readonly Stretch[] {
  const inside = busy.map(({ from, to }) => ({ from: Math.max(from, range.from), to: Math.min(to, range.to) }));
  const joined = joinIntervals(inside.filter(({ from, to }) => from <= to));
  const busyMs = lengthOf(joined);
  const stretches: Stretch[] = [];
  let at = range.from;
  const add = (to: number, isIdle: boolean): void => {
    const ms = to - at;
    const isGap = isIdle && ms > longMs && ms > busyMs * longShare;
    if (ms > 0) stretches.push({ from: at, to, isGap, width: isGap ? Math.max(busyMs, longMs) * gapShare : ms });
    at = Math.max(at, to);
  };
  for (const { from, to } of joined) {
    add(from, true);
    add(to, false);
  }
  add(range.to, true);
  return stretches;
}

/**
 * Creates the axis for a time range. `busy` lists the periods in which something is running. `tickShare` is the minimum distance between
 * two ticks, as a share of the axis.
 */
export function layoutAxis(busy: readonly Interval[], range: Interval, tickShare = 0.17): TimeAxis {
  const stretches = toStretches(busy, range);
  const total = stretches.reduce((sum, { width }) => sum + width, 0);
  const starts: number[] = [];
  let start = 0;
  for (const { width } of stretches) {
    starts.push(start);
    start += width;
  }
  const position = (at: number): number => {
    if (total === 0 || at <= range.from) return 0;
    const index = stretches.findLastIndex(({ from }) => from < at);
    const { from, to, width } = stretches[index] ?? { ...range, width: 0 };
    const share = Math.min(1, (at - from) / (to - from));
    return Math.min(1, ((starts[index] ?? 0) + share * width) / total);
  };
  const gaps = stretches
    .filter(({ isGap }) => isGap)
    .map(({ from, to }) => ({ from, to, position: (position(from) + position(to)) / 2 }));
  return { gaps, position, ticks: layoutTicks(range, { gaps, position, total, tickShare }) };
}

interface Layout {
  readonly gaps: readonly AxisGap[];
  readonly total: number;
  readonly tickShare: number;
  position(at: number): number;
}

const steps = [1, 2, 5].flatMap((digit) => [1, 10, 100].map((ten) => digit * ten)).sort((one, other) => one - other);
const roundMs: readonly number[] = [
  ...steps,
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 6, 12, 24, 48, 168].map((hours) => hours * 3_600_000),
];

function layoutTicks({ from, to }: Interval, { gaps, total, position, tickShare }: Layout): readonly AxisTick[] {
  const step = roundMs.find((ms) => ms / total >= tickShare) ?? total;
  if (total === 0) return [];
  const ticks: AxisTick[] = [];
  const starts = [from, ...gaps.map((gap) => gap.to)];
  for (const [index, start] of starts.entries()) {
    const end = gaps[index]?.from ?? to;
    for (let at = start; at <= end; at += step) {
      const tick = { position: position(at), ms: at - start, isAfterGap: index > 0 };
      const isFree = ticks.every((other) => tick.position - other.position >= tickShare * 0.8);
      const isClear = gaps.every((gap) => Math.abs(gap.position - tick.position) > tickShare / 2);
      if (isFree && isClear && tick.position <= 1 - tickShare / 2) ticks.push(tick);
    }
  }
  return ticks;
}

const kindsOf: readonly (readonly [name: string, kinds: readonly SegmentKind[]])[] = [
  ["model", ["first", "stream"]],
  ["discarded attempts", ["lost"]],
  ["tools", ["tool"]],
  ...Object.entries(waitNames).map(([kind, name]) => [name, [kind as keyof typeof waitNames]] as const),
];

/** Returns a line for each kind of work and wait. Overlapping times of the same kind count once. */
export function summarizeTime(rows: readonly Pick<Row, "segments">[]): readonly string[] {
  return kindsOf.flatMap(([name, kinds]) => {
    const segments = rows.flatMap((row) => row.segments.filter(({ kind }) => kinds.includes(kind)));
    return segments.length === 0 ? [] : [`${name}: ${formatMs(lengthOf(joinIntervals(segments)))}`];
  });
}
