// Journals record steps: in memory, with a time limit, in the order that an engine insists on, or in the record of an answer.

import type { Clock, Json } from "../types/common.ts";
import type { Cancellable, CancelReason, CancelScope } from "../cancellation/cancel-scope.ts";
import { LoopError } from "../errors/loop-error.ts";
import { edges } from "../utils/edges.ts";
import { isRecord, isThenable } from "../utils/guards.ts";
import { promiseOrValue } from "../utils/promises.ts";
import { describeValue } from "../utils/texts.ts";
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

/** How many microtasks a call waits before its timer starts, because a journal in memory answers earlier. */
const patientTicks = 8;

const settled = /* @__PURE__ */ Promise.resolve();

/** The call in which a journal has failed. */
interface JournalFault {
  readonly error: unknown;
  readonly verb: "step" | "read" | "open" | "close";
  readonly key?: string | undefined;
  /** The result of the step, if its body has run. */
  readonly answer?: unknown;
}

type JournalVerb = Omit<JournalFault, "error">;

/** Adds a time limit to a journal. A journal that throws or hangs breaks the run: nothing may go on unrecorded. */
export class GuardedJournal implements Journal {
  readonly durable: boolean;
  readonly readOnly: boolean;
  readonly engine: boolean;
  /** Set after the journal has failed. */
  broken: JournalFault | undefined;
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
    const call = { verb: "read", key } as const;
    const check = (found: unknown): unknown => (found === undefined ? found : this.#check(found, call));
    const given = this.ask(call, () => this.#journal.read(key));
    return isThenable(given) ? given.then(check) : check(given);
  }

  step<T>(key: string, body: Body<T>): T | PromiseLike<T> {
    const call: { -readonly [Field in keyof JournalVerb]: JournalVerb[Field] } & { key: string } = { verb: "step", key };
    let isFresh = false;
    const noting = (): T | PromiseLike<T> => {
      isFresh = true;
      const made = body();
      return isThenable(made) ? made.then((answer) => ((call.answer = answer), answer)) : ((call.answer = made), made);
    };
    const check = (value: T): T => {
      if (isRecord(value)) return isFresh ? value : this.#check(value, call);
      const expected = `The journal must return the recorded result of step "${key}", but returned ${describeValue(value)}.`;
      throw this.#fail(new TypeError(expected), call);
    };
    const given = this.ask(call, () => this.#journal.step(key, () => this.#run(noting)));
    return isThenable(given) ? given.then(check) : check(given);
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
      if (made instanceof Promise) {
        const done = made.then((value) => this.#refuseBroken(value)).finally(end);
        // A journal that fails may leave the promise alone.
        done.catch(() => {});
        return done;
      }
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
  ask<T>(what: JournalVerb, call: () => T | PromiseLike<T>): T | PromiseLike<T> {
    if (this.broken !== undefined) throw this.broken.error;
    let given: T | Promise<T>;
    try {
      given = promiseOrValue(call());
    } catch (error) {
      throw this.#fail(error, what);
    }
    if (!(given instanceof Promise)) return given;
    return new Promise<T>((resolve, reject) => {
      const waiting = new Waiting(this, this.#ports, ({ ms, ended }) => {
        this.#waiting.delete(waiting);
        const { verb, key } = what;
        reject(this.#fail(new LoopError("journal-unresponsive", { verb, ms, ...(key !== undefined && { key }), ended }), what));
      });
      this.#waiting.add(waiting);
      const leave = (): void => {
        this.#waiting.delete(waiting);
        waiting.end();
      };
      given.then(
        (value) => (leave(), resolve(value)),
        (error: unknown) => (leave(), reject(this.#fail(error, what))),
      );
      waiting.watch();
    });
  }

  /** A journal of the caller may return a record that somebody has changed. */
  #check<T>(record: T, call: JournalVerb & { readonly key: string }): T {
    try {
      edges.checkRecord?.(call.key, record);
      return record;
    } catch (error) {
      throw this.#fail(error, call);
    }
  }

  #fail(error: unknown, { verb, key, answer }: JournalVerb): unknown {
    this.broken ??= { error, verb, key, answer };
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
    const { ms, ended } = this.#findLimit();
    if (ms === Number.POSITIVE_INFINITY) return;
    const expire = (): void => (this.end(), this.#expire({ ms, ended }));
    this.#timer = this.#ports.clock.setTimeout(expire, Math.max(1, ms));
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
    if (this.#journal.engine) return { ms: journalMs };
    return { ms: Math.min(cause === "stop" ? Math.max(settleMs, graceMs) : graceMs, journalMs), ended: cause };
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
