// Journals record steps: in memory, with a time limit, in the order that an engine insists on, or in the record of an answer.

import type { Clock, Json } from "../types/common.ts";
import type { Cancellable, CancelReason, CancelScope } from "../cancellation/cancel-scope.ts";
import { LoopError } from "../errors/loop-error.ts";
import { isThenable } from "../utils/guards.ts";
import { promiseOrValue } from "../utils/promises.ts";
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
  readonly clock: Clock;
  readonly timeouts: { readonly journalMs: number; readonly settleMs: number };
}

/**
 * The minimum time that a cancelled run waits for a write of the journal, in milliseconds, unless `timeouts.journalMs` is
 * shorter. Even after a kill, the journal must record the steps that the kill cut short.
 */
const graceMs = 500;

/** How many microtasks a call waits before its timer starts, because a journal in memory answers earlier. */
const patientTicks = 8;

const settled = /* @__PURE__ */ Promise.resolve();

/** Adds a time limit to a journal. A journal that throws or hangs breaks the run: nothing may go on unrecorded. */
export class GuardedJournal implements Journal {
  readonly durable: boolean;
  readonly readOnly: boolean;
  readonly engine: boolean;
  /** Set after the journal has failed. */
  broken: { readonly error: unknown } | undefined;
  readonly #journal: Journal;
  readonly #ports: GuardPorts;
  #bodies = 0;
  readonly #waiting = new Set<Waiting>();

  constructor(journal: Journal, ports: GuardPorts) {
    this.#journal = journal;
    this.#ports = ports;
    this.durable = journal.durable === true;
    this.readOnly = journal.readOnly === true;
    this.engine = journal.engine === true;
  }

  get isBusy(): boolean {
    return this.#bodies > 0;
  }

  read(key: string): unknown {
    return this.ask("read", key, () => this.#journal.read(key));
  }

  step<T>(key: string, body: Body<T>): T | PromiseLike<T> {
    return this.ask("step", key, () => this.#journal.step(key, () => this.#run(body)));
  }

  #run<T>(body: Body<T>): T | PromiseLike<T> {
    if (this.broken !== undefined) throw this.broken.error;
    this.#bodies += 1;
    for (const one of this.#waiting) one.pause();
    const end = (): void => {
      this.#bodies -= 1;
      if (this.#bodies === 0) for (const one of this.#waiting) one.watch();
    };
    try {
      const made = promiseOrValue(body());
      if (made instanceof Promise) return made.then((value) => this.#refuseBroken(value)).finally(end);
      end();
      return made;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** A journal that has failed cancels the other steps of the run. Their outcomes must not be recorded. */
  #refuseBroken<T>(value: T): T {
    if (this.broken !== undefined) throw this.broken.error;
    return value;
  }

  /** Asks the journal. Rejects with LoopError "journal-unresponsive" if it does not answer in time. */
  ask<T>(verb: "step" | "read" | "open" | "close", key: string | undefined, call: () => T | PromiseLike<T>): T | PromiseLike<T> {
    if (this.broken !== undefined) throw this.broken.error;
    let given: T | Promise<T>;
    try {
      given = promiseOrValue(call());
    } catch (error) {
      throw this.#fail(error);
    }
    if (!(given instanceof Promise)) return given;
    return new Promise<T>((resolve, reject) => {
      const waiting = new Waiting(this, this.#ports, ({ ms, ended }) => {
        this.#waiting.delete(waiting);
        reject(this.#fail(new LoopError("journal-unresponsive", { verb, ms, ...(key !== undefined && { key }), ended })));
      });
      this.#waiting.add(waiting);
      const leave = (): void => {
        this.#waiting.delete(waiting);
        waiting.end();
      };
      given.then(
        (value) => (leave(), resolve(value)),
        (error: unknown) => (leave(), reject(this.#fail(error))),
      );
      waiting.watch();
    });
  }

  #fail(error: unknown): unknown {
    this.broken ??= { error };
    return error;
  }
}

interface TimeLimit {
  readonly ms: number;
  readonly ended?: Exclude<CancelReason["kind"], "interrupt"> | undefined;
}

/** One call of a journal that has not answered yet. */
class Waiting implements Cancellable {
  readonly #journal: GuardedJournal;
  readonly #ports: GuardPorts;
  readonly #expire: (limit: TimeLimit) => void;
  #timer: unknown;
  #isOver = false;

  constructor(journal: GuardedJournal, ports: GuardPorts, expire: (limit: TimeLimit) => void) {
    this.#journal = journal;
    this.#ports = ports;
    this.#expire = expire;
    ports.scope.join(this);
  }

  cancel(): void {
    if (this.#timer === undefined) return;
    this.pause();
    this.#arm();
  }

  pause(): void {
    if (this.#timer !== undefined) this.#ports.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  watch(ticks: number = patientTicks): void {
    if (this.#isOver || this.#journal.isBusy || this.#timer !== undefined) return;
    if (ticks > 0) void settled.then(() => this.watch(ticks - 1));
    else this.#arm();
  }

  end(): void {
    this.#isOver = true;
    this.pause();
    this.#ports.scope.leave(this);
  }

  #arm(): void {
    const { scope, clock, timeouts } = this.#ports;
    const { journalMs, settleMs } = timeouts;
    const cause = this.#journal.engine ? undefined : scope.cause?.kind;
    const granted = cause === "stop" ? Math.max(settleMs, graceMs) : graceMs;
    const ms = cause === undefined || cause === "interrupt" ? journalMs : Math.min(granted, journalMs);
    if (ms === Number.POSITIVE_INFINITY) return;
    const limit: TimeLimit = cause === undefined || cause === "interrupt" ? { ms } : { ms, ended: cause };
    this.#timer = clock.setTimeout(() => (this.end(), this.#expire(limit)), Math.max(1, ms));
  }
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

/**
 * Keeps the steps of a call that runs while its message streams. The record of the answer contains them, by keys that do not depend
 * on the place of the call. After the answer, new steps go to the journal.
 */
export class EagerJournal implements Journal {
  readonly durable = false;
  readonly steps: { [key: string]: unknown };
  /** True while the message streams. A wait then parks the call. */
  isOpen: boolean;
  readonly #journal: Journal;
  readonly #place: string;

  constructor(journal: Journal, place: string, recorded?: { readonly [key: string]: unknown }) {
    this.#journal = journal;
    this.#place = place;
    this.steps = { ...recorded };
    this.isOpen = recorded === undefined;
  }

  read(key: string): unknown {
    return this.#find(key) ?? (this.isOpen ? undefined : this.#journal.read(key));
  }

  step<T>(key: string, body: Body<T>): T | PromiseLike<T> {
    const found = this.#find(key);
    if (found !== undefined) return found as T;
    if (!this.isOpen) return this.#journal.step(key, body);
    const value = body();
    return isThenable(value) ? value.then((made) => this.#keep(key, made)) : this.#keep(key, value);
  }

  #find(key: string): unknown {
    return key.startsWith(this.#place) ? this.steps[key.slice(this.#place.length)] : undefined;
  }

  #keep<T>(key: string, value: T): T {
    this.steps[key.slice(this.#place.length)] = value;
    return value;
  }
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

  #check(): void {
    if (this.#isStuck)
      whenParked(() => {
        if (this.#reading === 0) this.#end();
      });
  }
}
