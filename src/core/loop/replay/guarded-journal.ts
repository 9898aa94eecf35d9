// Limits how long operations of the caller's journal may take.

import type { Clock } from "../../types/common.ts";
import type { Cancellable, CancelReason, CancelScope } from "../../../shared/cancellation/cancel-scope.ts";
import { IdleTimer } from "../../../shared/signals.ts";
import { LoopError } from "../../../shared/errors/loop-error.ts";
import { edges } from "../../../shared/edges.ts";
import { isRecord } from "../../../shared/guards.ts";
import { promiseOrValue } from "../../../shared/promises.ts";
import { describeValue } from "../../../shared/texts.ts";
import type { Journal } from "../../types/journal.ts";

interface GuardPorts {
  readonly scope: CancelScope;
  readonly limits: { readonly wallClockMs: number };
  readonly state: { readonly activeMs: number };
  readonly clock: Clock;
  readonly timeouts: { readonly journalMs: number; readonly toolCleanupMs: number };
}

/**
 * The minimum time that a cancelled run waits for a journal write, in milliseconds, unless `timeouts.journalMs` is shorter. The
 * journal must record steps that were cut short, even by a kill.
 */
const graceMs = 500;

/** The journal call that failed. */
interface JournalFault {
  readonly error: unknown;
  readonly verb: "step" | "read" | "open" | "close";
  readonly key?: string | undefined;
  /** The step's result, if its body has run. */
  readonly answer?: unknown;
}

type JournalCall = Omit<JournalFault, "error">;

/** A journal call that has not returned yet. */
interface OpenCall {
  /** The time at which the call's time limit started. */
  since: number;
  /** Ends the call without the journal's result. */
  expire(limit: TimeLimit): void;
}

/** Adds a time limit to a journal. If the journal throws or hangs, the run ends immediately, because nothing may happen unrecorded. */
export class GuardedJournal implements Journal, Cancellable {
  readonly durable: boolean;
  readonly readOnly: boolean;
  readonly engine: boolean;
  /** The journal's failure, if it has failed. */
  broken: JournalFault | undefined;
  readonly #journal: Journal;
  readonly #ports: GuardPorts;
  readonly #alarm: IdleTimer;
  readonly #open = new Set<OpenCall>();
  /** The number of step bodies that are running. The journal's time limit is paused while they run. */
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

  async step<T>(key: string, body: () => T | PromiseLike<T>): Promise<T> {
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
        // Marks the promise as handled, because a failing journal may ignore it.
        made.catch(() => {});
        return made;
      }),
    );
    if (isRecord(value)) return isFresh ? value : this.#check(value, call);
    const expected = `The journal must return the recorded result of step "${key}", but returned ${describeValue(value)}.`;
    throw this.#fail(new TypeError(expected), call);
  }

  async #run<T>(body: () => T | PromiseLike<T>): Promise<T> {
    this.#refuseBroken();
    this.#bodies += 1;
    this.#alarm.silence();
    try {
      const value = await body();
      // If the journal has failed in the meantime, throws instead, so that the value is not recorded.
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

  /** Calls the journal. Rejects with LoopError "journal-unresponsive" if it does not answer in time. */
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

  /** Restarts the limits of the open calls, after a cancellation or after a step body has ended. */
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
    const { journalMs, toolCleanupMs } = timeouts;
    const cause = scope.cause?.kind;
    if (cause === undefined || cause === "interrupt") {
      // Before the first new step, the run's wall clock has not started, so this timer enforces the run's time limit. If the recorded time
      // already exceeds that limit, the records are read to their end.
      const left = scope.hasWallClock ? 0 : limits.wallClockMs - state.activeMs;
      return left > 0 && left < journalMs ? { ms: left, ended: "wall-clock" } : { ms: journalMs };
    }
    if (this.engine) return { ms: journalMs };
    return { ms: Math.min(cause === "stop" ? Math.max(toolCleanupMs, graceMs) : graceMs, journalMs), ended: cause };
  }

  /** Checks a record that the journal returned, because somebody may have edited it. */
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
