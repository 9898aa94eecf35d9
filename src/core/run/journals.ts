// Journals record steps: in memory, with a time limit, in the order that an engine insists on, or in the record of an answer.

import type { Clock, Json } from "../types/common.ts";
import type { Cancellable, CancelReason, CancelScope } from "../../shared/cancellation/cancel-scope.ts";
import { IdleTimer } from "../../shared/signals.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import { edges } from "../../shared/edges.ts";
import { isRecord, isThenable } from "../../shared/guards.ts";
import { promiseOrValue } from "../../shared/promises.ts";
import { describeValue } from "../../shared/texts.ts";
import type { Journal } from "../types/journal.ts";

type Body<T> = () => T | PromiseLike<T>;

/** The version in the first record. A journal with another version is refused. */
export const recordVersion = 4;

/** The JSON form of a memory journal: the results of the steps by their keys, in the order of recording. */
export type SavedJournal = { readonly steps: { readonly [key: string]: Json } };

/** A journal in memory, as returned by `memoryJournal`. */
export interface MemoryJournal extends Journal {
  readonly durable: false;
  /** Returns the keys of the steps recorded so far, in order. */
  keys(): readonly string[];
  toJSON(): SavedJournal;
}

export function recordSteps(records: Map<string, unknown> = new Map()): MemoryJournal {
  const keep = <T>(key: string, value: T): T => {
    records.set(key, value);
    return value;
  };
  return {
    durable: false,
    keys: () => [...records.keys()],
    toJSON: () => ({ steps: Object.fromEntries(records) as SavedJournal["steps"] }),
    read: (key) => records.get(key),
    step: <T>(key: string, body: Body<T>): T | PromiseLike<T> => {
      const found = records.get(key);
      if (found !== undefined) return found as T;
      const value = body();
      return isThenable(value) ? value.then((made) => keep(key, made)) : keep(key, value);
    },
  };
}

interface GuardPorts {
  readonly scope: CancelScope;
  readonly limits: { readonly wallClockMs: number };
  readonly state: { readonly activeMs: number };
  readonly clock: Clock;
  readonly timeouts: { readonly journalMs: number; readonly settleMs: number };
}

/**
 * The minimum time that a cancelled run waits for a write of the journal, in milliseconds, unless `timeouts.journalMs` is
 * shorter. Even after a kill, the journal must record the steps that the kill cut short.
 */
const graceMs = 500;

/** The call in which a journal has failed. */
interface JournalFault {
  readonly error: unknown;
  readonly verb: "step" | "read" | "open" | "close";
  readonly key?: string | undefined;
  /** The result of the step, if its body has run. */
  readonly answer?: unknown;
}

type JournalCall = Omit<JournalFault, "error">;

/** A call that the journal has not answered yet. */
interface OpenCall {
  /** The time from which its limit counts. */
  since: number;
  /** Ends the call without an answer. */
  expire(limit: TimeLimit): void;
}

/** Adds a time limit to a journal. A journal that throws or hangs breaks the run: nothing may go on unrecorded. */
export class GuardedJournal implements Journal, Cancellable {
  readonly durable: boolean;
  readonly readOnly: boolean;
  readonly engine: boolean;
  /** Set after the journal has failed. */
  broken: JournalFault | undefined;
  readonly #journal: Journal;
  readonly #ports: GuardPorts;
  readonly #alarm: IdleTimer;
  readonly #open = new Set<OpenCall>();
  /** The number of bodies that run now. The time of the journal does not count meanwhile. */
  #bodies = 0;

  constructor(journal: Journal, ports: GuardPorts) {
    this.#journal = journal;
    this.#ports = ports;
    this.#alarm = new IdleTimer(ports.clock);
    this.durable = journal.durable === true;
    this.readOnly = journal.readOnly === true;
    this.engine = journal.engine === true;
    ports.scope.join(this);
  }

  async read(key: string): Promise<unknown> {
    const call = { verb: "read", key } as const;
    const found = await this.ask(call, () => this.#journal.read(key));
    return found === undefined ? found : this.#check(found, call);
  }

  async step<T>(key: string, body: Body<T>): Promise<T> {
    const call: { answer?: unknown } & JournalCall & { readonly key: string } = { verb: "step", key };
    let isFresh = false;
    const noting = async (): Promise<T> => {
      isFresh = true;
      const made = await this.#run(body);
      call.answer = made;
      return made;
    };
    const value = await this.ask(call, () =>
      this.#journal.step(key, () => {
        const made = noting();
        // A journal that fails may leave the promise alone.
        made.catch(() => {});
        return made;
      }),
    );
    if (isRecord(value)) return isFresh ? value : this.#check(value, call);
    const expected = `The journal must return the recorded result of step "${key}", but returned ${describeValue(value)}.`;
    throw this.#fail(new TypeError(expected), call);
  }

  async #run<T>(body: Body<T>): Promise<T> {
    this.#refuseBroken();
    this.#bodies += 1;
    this.#alarm.silence();
    try {
      const value = await body();
      // A journal that has failed cancels the other steps of the run. Their outcomes must not be recorded.
      this.#refuseBroken();
      return value;
    } finally {
      this.#bodies -= 1;
      this.cancel();
    }
  }

  #refuseBroken(): void {
    if (this.broken !== undefined) throw this.broken.error;
  }

  /** Asks the journal. Rejects with LoopError "journal-unresponsive" if it does not answer in time. */
  async ask<T>(what: JournalCall, call: () => T | PromiseLike<T>): Promise<T> {
    this.#refuseBroken();
    let open: OpenCall | undefined;
    try {
      const given = promiseOrValue(call());
      if (!(given instanceof Promise)) return given;
      return await new Promise<T>((resolve, reject) => {
        const { verb, key } = what;
        const expire = ({ ms, ended }: TimeLimit): void =>
          reject(this.#fail(new LoopError("journal-unresponsive", { verb, ms, ...(key !== undefined && { key }), ended }), what));
        open = { since: this.#ports.clock.now(), expire };
        this.#open.add(open);
        this.#arm();
        given.then(resolve, reject);
      });
    } catch (error) {
      throw this.#fail(error, what);
    } finally {
      if (open !== undefined) this.#open.delete(open);
      this.#arm();
    }
  }

  /** The limits of the open calls begin again after a cancellation, and after a body has ended. */
  cancel(): void {
    const since = this.#ports.clock.now();
    for (const one of this.#open) one.since = since;
    this.#arm();
  }

  /** Stops the timer. */
  release(): void {
    this.#alarm.stop();
  }

  #arm(): void {
    const [oldest] = this.#open;
    if (oldest === undefined || this.#bodies > 0 || this.broken !== undefined) return this.#alarm.silence();
    const { ms, ended } = this.#findLimit();
    this.#alarm.set(oldest.since + Math.max(1, ms), () => oldest.expire({ ms, ended }));
  }

  #findLimit(): TimeLimit {
    const { scope, timeouts, limits, state } = this.#ports;
    const { journalMs, settleMs } = timeouts;
    const cause = scope.cause?.kind;
    if (cause === undefined || cause === "interrupt") {
      // The wall clock starts with the first new step. Until then, this timer enforces it. A longer recorded time is read to its end.
      const left = scope.hasWallClock ? 0 : limits.wallClockMs - state.activeMs;
      return left > 0 && left < journalMs ? { ms: left, ended: "wall-clock" } : { ms: journalMs };
    }
    if (this.engine) return { ms: journalMs };
    return { ms: Math.min(cause === "stop" ? Math.max(settleMs, graceMs) : graceMs, journalMs), ended: cause };
  }

  /** A journal of the caller may return a record that somebody has changed. */
  #check<T>(record: T, call: JournalCall & { readonly key: string }): T {
    try {
      edges.checkRecord?.(call.key, record);
      return record;
    } catch (error) {
      throw this.#fail(error, call);
    }
  }

  #fail(error: unknown, { verb, key, answer }: JournalCall): unknown {
    this.broken ??= { error, verb, key, answer };
    return error;
  }
}

interface TimeLimit {
  readonly ms: number;
  readonly ended?: Exclude<CancelReason["kind"], "interrupt"> | undefined;
}

/** Runs `call` when all promises are quiet. Timers and I/O may still be pending. */
const whenQuiet: (call: () => void) => void = (call) => {
  const { setImmediate: later } = globalThis as { readonly setImmediate?: (call: () => void) => unknown };
  if (later === undefined) setTimeout(call, 0);
  else later(call);
};

let parking = 0;

/** Calls `check` when all promises are quiet. Waves are sent after that, because another call may take the place of a parked one. */
export function whenParked(check: () => void): void {
  parking += 1;
  whenQuiet(() => {
    parking -= 1;
    check();
  });
}

/** A step that has been asked for. */
export interface AskedStep {
  readonly key: string;
  readonly body: Body<unknown>;
}

/** An engine that needs the same order of steps on each replay. */
export interface OrderedEngine {
  /** Begins the steps in this order, or returns their recorded results. The results are JSON, in the order of the steps. */
  all(wave: readonly AskedStep[]): PromiseLike<readonly unknown[]>;
}

interface Asked extends AskedStep {
  done(value: unknown): void;
  fail(error: unknown): void;
}

/**
 * For engines that need the same order of steps on each replay. Collects the next step of everything that is active, submits them
 * together in the order of their keys, and hands out their results together.
 */
export function inLockstep(engine: OrderedEngine, onWave?: (keys: readonly string[]) => void): Journal {
  const known = new Map<string, unknown>();
  let asked: Asked[] = [];
  let isBusy = false;
  const send = async (): Promise<void> => {
    const wave = asked.sort((one, other) => (one.key < other.key ? -1 : 1));
    asked = [];
    onWave?.(wave.map(({ key }) => key));
    const fresh = wave.filter(({ key }) => !known.has(key));
    try {
      const values = fresh.length === 0 ? [] : await engine.all(fresh);
      for (const [index, { key }] of fresh.entries()) known.set(key, values[index]);
      for (const { key, done } of wave) done(known.get(key));
    } catch (error) {
      for (const { fail } of wave) fail(error);
    }
    isBusy = false;
    if (asked.length > 0) arm();
  };
  const arm = (): void => {
    isBusy = true;
    whenQuiet(() => {
      if (parking > 0) arm();
      else void send();
    });
  };
  return {
    durable: true,
    engine: true,
    read: (key) => known.get(key),
    step: <T>(key: string, body: Body<T>) =>
      new Promise<T>((done, fail) => {
        asked.push({ key, body, done, fail });
        if (!isBusy) arm();
      }),
  };
}

/** Reads only. A step without a record stays pending, and `stuck` resolves when only such steps are left. */
export class ReplayJournal implements Journal {
  readonly durable: boolean;
  readonly stuck: Promise<void>;
  readonly #journal: Journal;
  #reading = 0;
  #isStuck = false;
  #end: () => void = () => {};

  constructor(journal: Journal) {
    this.#journal = journal;
    this.durable = journal.durable === true;
    this.stuck = new Promise((resolve) => (this.#end = resolve));
  }

  async read(key: string): Promise<unknown> {
    this.#reading += 1;
    try {
      return await this.#journal.read(key);
    } finally {
      this.#reading -= 1;
      this.#check();
    }
  }

  async step<T>(key: string): Promise<T> {
    const found = await this.read(key);
    if (found !== undefined) return found as T;
    this.#isStuck = true;
    this.#check();
    return new Promise<never>(() => {});
  }

  get #isReading(): boolean {
    return this.#reading > 0 || (this.#journal instanceof ReplayJournal && this.#journal.#isReading);
  }

  #check(): void {
    if (!this.#isStuck) return;
    whenParked(() => {
      if (!this.#isReading) this.#end();
      else if (this.#reading === 0) this.#check();
    });
  }
}
