// Converts the events of a durable run for a page. The id of an event is the number of its run, a dash, and its position.

import type { HostedEvent, HostedStream } from "../hosted-event.ts";
import { toReplayed } from "../log-reader.ts";
import type { DurableEvent } from "./durable-loop.ts";

/** Reads the id of an event. Returns undefined for any other text. */
export function readPlace(id: string | undefined): { readonly number: number; readonly seq: number } | undefined {
  const [, number, seq] = /^([1-9]\d{0,8})-(\d{1,15})$/.exec(id ?? "") ?? [];
  return number === undefined ? undefined : { number: Number(number), seq: Number(seq) };
}

/** Returns the position after the event with the id `from`, or 0 if `from` belongs to another run. */
export function toSeq(from: string | undefined, number: number): number {
  const place = readPlace(from);
  return place?.number === number ? place.seq + 1 : 0;
}

export interface HostedFacts extends Pick<HostedStream, "runId" | "isOver" | "restarted"> {
  readonly number: number;
  /** The events before this position are marked as replayed. */
  readonly replayedBefore: number;
}

export function toHostedStream(events: AsyncIterableIterator<DurableEvent>, facts: HostedFacts): HostedStream {
  const { runId, isOver, restarted, number, replayedBefore } = facts;
  const toHosted = ({ seq, event }: DurableEvent): HostedEvent => {
    const hosted = { id: `${number}-${seq}`, event };
    return seq < replayedBefore ? toReplayed(hosted) : hosted;
  };
  return {
    runId,
    isOver,
    restarted,
    [Symbol.asyncIterator]: () => ({
      async next() {
        const item = await events.next();
        return item.done === true ? item : { done: false, value: toHosted(item.value) };
      },
      async return() {
        await events.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}
