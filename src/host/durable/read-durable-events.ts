import { rowOf } from "../../shared/event-table.ts";
import { followSignal } from "../../shared/signals.ts";
import type { LoopEvent } from "../../core/index.ts";
import type { JournalInspection } from "../../journal/index.ts";
import { toReplayed } from "../log-reader.ts";
import { findWaiting } from "./check-decisions.ts";
import type { HostedEvent, HostedStream } from "../run-host.ts";
import { type StoredEvent, unpackEvents } from "./durable-records.ts";
import type { DurableEvent, DurableEventsOptions } from "./durable-loop.ts";
import type { DurableEngine, FoundRun, Row } from "./durable-store.ts";

export interface ReadRun {
  readonly id: string;
  readonly engine: DurableEngine;
  /** Finds the run. Throws if the loop has no run with this id. */
  find(): Promise<FoundRun>;
  /** Throws the error for an unknown run id. */
  refuse(): never;
  inspect(): Promise<JournalInspection | undefined>;
}

/** Wraps a generator, because a generator's own `return` would wait until a pending call to `next` has settled. */
export function readDurableEvents(
  { from = 0, signal, endsWhenWaiting = false }: DurableEventsOptions,
  run: ReadRun,
): AsyncIterableIterator<DurableEvent> {
  const left = followSignal(signal);
  const leave = (): void => {
    left.release();
    left.abort();
  };
  const events = new EventReader(run, endsWhenWaiting).read(from, left.signal);
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      const item = await events.next();
      if (item.done === true) leave();
      return item;
    },
    async return() {
      leave();
      return events.return(undefined);
    },
  };
}

class EventReader {
  readonly #run: ReadRun;
  readonly #endsWhenWaiting: boolean;
  #last: LoopEvent | undefined;
  #isFound = false;
  /** True if the reader has checked for new events and found none. */
  #isQuiet = false;

  constructor(run: ReadRun, endsWhenWaiting: boolean) {
    this.#run = run;
    this.#endsWhenWaiting = endsWhenWaiting;
  }

  async *read(from: number, signal: AbortSignal): AsyncGenerator<DurableEvent, undefined> {
    const { id, engine } = this.#run;
    // Starts one event before `from`, because a reader that already has `run-end` would otherwise wait forever.
    for (let next = Math.max(from - 1, 0); ;) {
      const rows = await this.#waitForRows(next, signal);
      if (rows.length === 0) return undefined;
      const stored = rows.map(({ body }) => JSON.parse(body) as StoredEvent);
      const events = await unpackEvents(engine.store, id, stored);
      if (events === undefined) return this.#run.refuse();
      for (const [index, event] of events.entries()) {
        const seq = rows[index]?.seq ?? 0;
        this.#last = event;
        this.#isQuiet = false;
        const isEnd = event.type === "run-end" && event.path === undefined;
        // A waiting run's `run-end` is not stored. It has the position of the event before it, so it is yielded although `seq < next`.
        if (seq >= from || (isEnd && seq < next)) yield { seq, event };
        if (isEnd) return undefined;
        next = seq + 1;
      }
    }
  }

  /** Waits for new events. Returns no rows if the run has ended or the signal has fired. */
  async #waitForRows(next: number, signal: AbortSignal): Promise<readonly Row<string>[]> {
    const { id, engine } = this.#run;
    try {
      return await engine.waitFor(id, () => this.#look(next), signal);
    } catch (error) {
      if (signal.aborted) return [];
      throw error;
    }
  }

  /** Reads new events. Returns undefined if the reader must wait, and no rows if the run has ended. Throws a failed run's error. */
  async #look(from: number): Promise<readonly Row<string>[] | undefined> {
    const { id, engine } = this.#run;
    // `find` throws for another loop's run, whose events this loop must not return.
    const first = this.#isFound ? undefined : await this.#run.find();
    this.#isFound = true;
    const rows = await engine.store.readEvents(id, from);
    if (rows.length > 0) return rows;
    const found = first ?? (await this.#run.find());
    if (found.state === "live") return this.#endsWhenWaiting ? this.#lookWaiting(from) : undefined;
    // Reads again, because the last events may have been written between `readEvents` and `find`.
    const last = first === undefined ? await engine.store.readEvents(id, from) : rows;
    if (last.length === 0 && found.state === "failed") throw new Error(found.error);
    // A run that has ended but has no events is being deleted. Deletion removes the events first.
    if (last.length === 0 && (await engine.store.countEvents(id)) === 0) this.#run.refuse();
    return last;
  }

  /** If the run is only waiting for decisions, returns a `run-end` that is not stored. */
  async #lookWaiting(from: number): Promise<readonly Row<string>[] | undefined> {
    const { id, engine } = this.#run;
    // Skips the slow state check after a fragment, because another fragment usually follows. Checks once none has arrived for a while.
    const mayFollow = this.#last !== undefined && rowOf(this.#last).isPiece === true && !this.#isQuiet;
    this.#isQuiet = true;
    if (mayFollow) return undefined;
    const state = await this.#run.inspect();
    if (state === undefined || !(await isWaiting(engine, id, state))) return undefined;
    // Reads again, because more events may have been written while the state was read.
    const rows = await engine.store.readEvents(id, from);
    return rows.length > 0
      ? rows
      : [{ seq: from - 1, body: JSON.stringify({ event: toRunEnd(id, state, this.#last) } satisfies StoredEvent) }];
  }
}

/** True if a run is only waiting, and no stop, kill or answer to its waiting calls has been sent. */
export async function isWaiting(
  { store }: Pick<DurableEngine, "store">,
  id: string,
  { status, ...run }: JournalInspection,
): Promise<boolean> {
  if (status !== "suspended") return false;
  const ids = new Set(findWaiting(run).map((call) => call.id));
  const messages = await store.readMessages(id, 0);
  return !messages.some(
    ({ body }) => body.verb === "stop" || body.verb === "kill" || (body.verb === "answer" && ids.has(body.id)),
  );
}

function toRunEnd(runId: string, state: JournalInspection, last: LoopEvent | undefined): LoopEvent {
  const { reason = { kind: "approval-required", calls: [] }, usage, costUSD, iterations, toolCallsExecuted } = state;
  const spent = { usage, costUSD, iterations, toolCallsExecuted, durationMs: 0 };
  return { type: "run-end", runId, iteration: last?.iteration ?? 0, status: "suspended", reason, ...spent };
}

/** Reads a hosted event's id: the number of the run, a dash, and the event's position. Returns undefined for any other string. */
export function readPlace(id: string | undefined): { readonly number: number; readonly seq: number } | undefined {
  const [, number, seq] = /^([1-9]\d{0,8})-(\d{1,15})$/.exec(id ?? "") ?? [];
  return number === undefined ? undefined : { number: Number(number), seq: Number(seq) };
}

/** Returns the position after the event with the id `from`, or 0 if `from` belongs to a different run. */
export function toSeq(from: string | undefined, number: number): number {
  const place = readPlace(from);
  return place?.number === number ? place.seq + 1 : 0;
}

interface HostedFacts extends Pick<HostedStream, "runId" | "isOver" | "restarted"> {
  readonly number: number;
  /** Events before this position are marked as `replayed`. */
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
