// Lets the callers of one process use a conversation in the order in which they came.

import { type Clock, longestTimerMs } from "../core/entry-kit.ts";
import { busy } from "./check-id.ts";
import type { ConversationStore } from "./conversation-store.ts";

export interface Waiting {
  readonly clock: Clock;
  /** The time of `clock` until which the caller waits. */
  readonly until: number;
  readonly signal: AbortSignal | undefined;
}

class Line {
  /** True if the run of the first caller is being stopped. Others then wait for its end, even if they would not wait otherwise. */
  isStopping: () => boolean = () => false;
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Joins the end of the line. `ready` resolves when all earlier callers have left. */
  join(): { readonly ready: Promise<unknown>; leave(): void } {
    let leave = (): void => {};
    const ready = this.#last;
    const left = new Promise<void>((resolve) => (leave = resolve));
    this.#last = Promise.all([ready, left]);
    this.#count += 1;
    let isIn = true;
    return {
      ready,
      leave: () => {
        if (isIn) this.#count -= 1;
        isIn = false;
        leave();
      },
    };
  }
}

/** The lines of one place: a directory, a database, or the memory of one store. */
export class Lines {
  readonly #all = new Map<string, Line>();

  /**
   * Waits for the turn of the caller. Returns the function that ends the turn. Rejects with LoopError "conversation-busy" when the
   * time is over or the signal fires.
   */
  async take(id: string, purpose: "send" | "lock", { clock, until, signal }: Waiting): Promise<() => void> {
    const key = `${purpose} ${id}`;
    const line = this.#all.get(key) ?? new Line();
    const left = line.isStopping() ? longestTimerMs : until - clock.now();
    if (!line.isEmpty && (left <= 0 || signal?.aborted === true)) throw busy(id);
    const isFirst = line.isEmpty;
    this.#all.set(key, line);
    const { ready, leave } = line.join();
    const end = (): void => {
      leave();
      if (line.isEmpty && this.#all.get(key) === line) this.#all.delete(key);
    };
    if (!isFirst && !(await isInTime(ready, { clock, left, signal }))) {
      end();
      throw busy(id);
    }
    return () => {
      line.isStopping = () => false;
      end();
    };
  }

  /** `isStopping` returns true if the run that holds the lock is being stopped. */
  watch(id: string, isStopping: () => boolean): void {
    const line = this.#all.get(`lock ${id}`);
    if (line !== undefined) line.isStopping = isStopping;
  }
}

interface Limits {
  readonly clock: Clock;
  readonly left: number;
  readonly signal: AbortSignal | undefined;
}

function isInTime(ready: Promise<unknown>, { clock, left, signal }: Limits): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isReady: boolean): void => {
      clock.clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      resolve(isReady);
    };
    const onAbort = (): void => end(false);
    const timer = clock.setTimeout(onAbort, Math.max(0, left));
    signal?.addEventListener("abort", onAbort, { once: true });
    void ready.then(() => end(true));
  });
}

const linesOfStores = new WeakMap<object, Lines>();

/** The lines of each place: directories by path, databases and stores by their objects. */
interface Places<Place> {
  get(place: Place): Lines | undefined;
  set(place: Place, lines: Lines): unknown;
}

function linesAt<Place>(places: Places<Place>, place: Place): Lines {
  const lines = places.get(place) ?? new Lines();
  places.set(place, lines);
  return lines;
}

/** Makes a store use the lines of its place, which several stores of this process may share. */
export function shareLines<Place>(store: ConversationStore, places: Places<Place>, place: Place): ConversationStore {
  linesOfStores.set(store, linesAt(places, place));
  return store;
}

export function linesOf(store: ConversationStore): Lines {
  return linesAt(linesOfStores, store);
}
