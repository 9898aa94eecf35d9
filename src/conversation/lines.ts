// Lets callers in one process use a conversation one at a time, in the order in which they asked.

import { CancelScope } from "../core/kit.ts";
import type { Clock } from "../core/index.ts";
import { Deadline } from "../shared/cancellation/deadline.ts";
import { maxTimerMs } from "../shared/signals.ts";
import { busy } from "./check-id.ts";
import type { ConversationStore } from "./conversation-store.ts";

export interface Waiting {
  readonly clock: Clock;
  /** The time on `clock` at which the caller stops waiting. */
  readonly until: number;
  readonly signal: AbortSignal | undefined;
}

/** The callers in this process that are using a conversation or waiting for it. */
interface Line {
  /**
   * True if the first caller's run is being stopped. Other callers then wait for it to end, even if they would otherwise be refused
   * immediately.
   */
  isStopping: () => boolean;
  /** Resolves when every caller has left the line. */
  left: Promise<unknown>;
  count: number;
}

const never = (): boolean => false;

/** The queues of callers for one place: a directory, a database, or the memory of one store. */
export class Lines {
  readonly #all = new Map<string, Line>();

  /**
   * Waits for the caller's turn. Returns a function that ends the turn. Rejects with LoopError "conversation-busy" when the time is up or
   * the signal is aborted.
   */
  async take(id: string, purpose: "send" | "lock", { clock, until, signal }: Waiting): Promise<() => void> {
    const key = `${purpose} ${id}`;
    const line: Line = this.#all.get(key) ?? { isStopping: never, left: Promise.resolve(), count: 0 };
    const isFirst = line.count === 0;
    const waitMs = line.isStopping() ? maxTimerMs : until - clock.now();
    if (!isFirst && (waitMs <= 0 || signal?.aborted === true)) throw busy(id);
    this.#all.set(key, line);
    line.count += 1;
    const ready = line.left;
    let leave = (): void => {};
    line.left = Promise.all([ready, new Promise<void>((resolve) => (leave = resolve))]);
    const end = (): void => {
      line.count -= 1;
      if (line.count === 0) this.#all.delete(key);
      leave();
    };
    if (!isFirst && !(await isInTime(ready, { clock, waitMs, signal }))) {
      end();
      throw busy(id);
    }
    return () => {
      line.isStopping = never;
      end();
    };
  }

  /** True if a caller is sending, or is waiting for its turn to send. */
  has(id: string): boolean {
    return this.#all.has(`send ${id}`);
  }

  /** Stores a function that returns true if the run that holds the lock is being stopped. */
  watch(id: string, isStopping: () => boolean): void {
    const line = this.#all.get(`lock ${id}`);
    if (line !== undefined) line.isStopping = isStopping;
  }
}

interface Limits {
  readonly clock: Clock;
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

async function isInTime(ready: Promise<unknown>, { clock, waitMs: limitMs, signal }: Limits): Promise<boolean> {
  const scope = new CancelScope();
  scope.follow(signal);
  const { kind } = await new Deadline({ limitMs }, { clock, scope }).race(ready);
  scope.release();
  return kind === "value";
}

const linesOfStores = new WeakMap<object, Lines>();

/** The queues for each place. Directories are keyed by path, databases and stores by object. */
interface Places<Place> {
  get(place: Place): Lines | undefined;
  set(place: Place, lines: Lines): unknown;
}

function linesAt<Place>(places: Places<Place>, place: Place): Lines {
  const lines = places.get(place) ?? new Lines();
  places.set(place, lines);
  return lines;
}

/** Makes a store use the queues of its place, which several stores in this process may share. */
export function shareLines<Place, Store extends ConversationStore>(store: Store, places: Places<Place>, place: Place): Store {
  linesOfStores.set(store, linesAt(places, place));
  return store;
}

export function linesOf(store: ConversationStore): Lines {
  return linesAt(linesOfStores, store);
}
