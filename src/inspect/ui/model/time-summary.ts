// Sums up where the time of a run went, from the rows of its timeline.

import { waitNames } from "../../analysis/waits.ts";
import { formatMs } from "../../format.ts";
import type { Interval } from "./time-axis.ts";
import type { Row, SegmentKind } from "./rows.ts";

const kindsOf: readonly (readonly [name: string, kinds: readonly SegmentKind[]])[] = [
  ["model", ["first", "stream"]],
  ["discarded attempts", ["lost"]],
  ["tools", ["tool"]],
  ...Object.entries(waitNames).map(([kind, name]) => [name, [kind as keyof typeof waitNames]] as const),
];

/** Returns a line for each kind of work and wait. Times that overlap count once for each kind. */
export function summarizeTime(rows: readonly Pick<Row, "segments">[]): readonly string[] {
  return kindsOf.flatMap(([name, kinds]) => {
    const segments = rows.flatMap((row) => row.segments.filter(({ kind }) => kinds.includes(kind)));
    return segments.length === 0 ? [] : [`${name}: ${formatMs(lengthOf(segments))}`];
  });
}

/** Returns the time in which at least one of the intervals lasted. */
function lengthOf(intervals: readonly Interval[]): number {
  let [sum, end] = [0, -Infinity];
  for (const { from, to } of [...intervals].sort((one, other) => one.from - other.from)) {
    sum += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }
  return sum;
}
