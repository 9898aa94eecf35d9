// Places parts on lanes, so that each lane has only parts that follow or contain each other. Viewers need this of a thread.

import type { TracePart } from "./trace-parts.ts";

/** A part on a lane. `ts` and `dur` are whole microseconds, `ts` since the start of the trace. */
export interface PlacedPart {
  readonly part: TracePart;
  readonly lane: number;
  readonly ts: number;
  readonly dur: number;
}

interface Lane {
  /** The end of the last complete part, in milliseconds. */
  busyUntil: number;
  /** The parts that contain the part that is placed now, outermost first. */
  readonly open: TracePart[];
  /** The time in microseconds at which the next part can begin. */
  cursor: number;
}

const microseconds = 1000;

/**
 * Places a part on the lane of the part that contains it, if it is within that part and does not overlap another part. Otherwise,
 * on the first lane that is free. `startedAt` is the start of the trace in milliseconds. A part lasts at least 1 microsecond, and
 * starts up to a few microseconds later for this, because viewers misplace parts without a duration.
 */
export function layOutParts(parts: readonly TracePart[], startedAt: number): readonly PlacedPart[] {
  const lanes: Lane[] = [];
  const placed: PlacedPart[] = [];

  const addLane = (): number => lanes.push({ busyUntil: 0, open: [], cursor: 0 }) - 1;
  // Parts that are open on a lane would seem to contain the part.
  const isFree = ({ busyUntil, open }: Lane, { from }: TracePart): boolean => busyUntil <= from && open.length === 0;
  const choose = (part: TracePart, own: number | undefined): number => {
    const lane = own === undefined ? undefined : lanes[own];
    if (own !== undefined && lane !== undefined && lane.busyUntil <= part.from && isWithin(part, lane.open.at(-1))) return own;
    const free = lanes.findIndex((one) => isFree(one, part));
    return free === -1 ? addLane() : free;
  };
  const place = (part: TracePart, own: number | undefined): void => {
    const number = choose(part, own);
    const lane = lanes[number];
    if (lane === undefined) return;
    const ts = Math.max((part.from - startedAt) * microseconds, lane.cursor);
    lane.cursor = ts;
    lane.open.push(part);
    const index = placed.push({ part, lane: number, ts, dur: 0 }) - 1;
    placeAll(part.parts, number);
    const end = Math.max((part.to - startedAt) * microseconds, lane.cursor, ts + 1);
    placed[index] = { part, lane: number, ts, dur: end - ts };
    lane.open.pop();
    lane.cursor = end;
    lane.busyUntil = Math.max(lane.busyUntil, part.to);
  };
  const placeAll = (siblings: readonly TracePart[], own: number | undefined): void => {
    for (const part of siblings.toSorted((one, other) => one.from - other.from)) place(part, own);
  };

  placeAll(parts, undefined);
  return placed;
}

function isWithin(part: TracePart, outer: TracePart | undefined): boolean {
  return outer !== undefined && part.from >= outer.from && part.to <= outer.to;
}
