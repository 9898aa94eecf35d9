// The calls of one batch on their way: which may begin next, which wait, and what became of the others. It is the one place that knows
// what waits, so that the same rule holds before the first call, after each wave, and when a suspended batch goes on.

import type { Ending } from "../../types/termination.ts";
import type { ToolOutcome } from "../../types/tool-outcome.ts";
import { isFatal } from "../../tools/render-outcome.ts";
import { sendBoth } from "./replay-call.ts";
import type { BatchCall, Run, RunnableAgent } from "../run/run.ts";

/** One batch. */
export class Batch {
  readonly #run: Run;
  /** Calls that have not begun; the next one is the last. */
  #todo: BatchCall[] = [];
  /** The calls that wait, and those among them that no call after them may overtake. */
  readonly #waiting = new Set<BatchCall>();
  readonly #barriers = new Set<BatchCall>();
  #isBarred = false;
  #hasDropped = false;

  constructor(run: Run, calls: readonly BatchCall[]) {
    this.#run = run;
    for (const one of calls) this.#add(one, !run.replayed);
    this.#todo.reverse();
  }

  /** Whether nothing more may begin: a call has failed fatally, or the run was ended. */
  get isBarred(): boolean {
    return this.#isBarred;
  }

  /** Whether every call is over. */
  get isDone(): boolean {
    return this.#todo.length === 0 && this.#waiting.size === 0;
  }

  /** Calls that have not begun. */
  get todo(): readonly BatchCall[] {
    return this.#todo;
  }

  /** Whether calls that have begun wait to go on. */
  get hasBegun(): boolean {
    return this.#todo.some(({ hasBegun }) => hasBegun);
  }

  /** Whether a run inside one of the calls was told to drain. */
  get isDrained(): boolean {
    return [...this.#waiting].some(({ suspended }) => suspended?.reason.kind === "drained");
  }

  /** The calls that wait for a decision. */
  get awaiting(): readonly BatchCall[] {
    return [...this.#waiting].filter(({ question }) => question !== undefined);
  }

  /** From now on nothing begins, whatever it would have waited for. */
  bar(): void {
    this.#isBarred = true;
  }

  /** Ends the dispatch. Nothing is said of a call that has not begun. */
  finish(): void {
    for (const one of this.#todo) if (!one.hasBegun) hold(one);
  }

  /**
   * Takes the calls that may begin now, beside each other; none if all others wait. Calls that wait are overtaken, but not across a
   * sequential call: calls after one begin when it is over, and it begins when all before it are.
   */
  takeWave(): readonly BatchCall[] {
    const wave: BatchCall[] = [];
    for (;;) {
      const one = this.takeNext(wave.length);
      if (one === undefined) return wave;
      wave.push(one);
      if (this.isAlone(one)) return wave;
    }
  }

  /** Takes the next call that may begin beside so many others; undefined if none may. */
  takeNext(running: number): BatchCall | undefined {
    if (running >= this.#run.bounds.toolConcurrency) return undefined;
    this.#dropBegun();
    const one = this.#findNext();
    if (one === undefined || (running > 0 && this.isAlone(one))) return undefined;
    this.#todo.splice(this.#todo.lastIndexOf(one), 1);
    one.isBarred ||= this.#isBarred;
    return one;
  }

  /** Calls that have begun wait, and in a barred batch those that wait are ended apart. */
  #dropBegun(): void {
    if (!this.#isBarred || this.#hasDropped) return;
    this.#hasDropped = true;
    this.#todo = this.#todo.filter(({ hasBegun }) => !hasBegun);
  }

  /** The first call that need not wait: the next one, or one that has begun. */
  #findNext(): BatchCall | undefined {
    const next = this.#todo.at(-1);
    if (next === undefined || next.hasBegun || !this.#isHeld(next)) return next;
    return this.#todo.findLast(({ hasBegun }) => hasBegun);
  }

  #isHeld(one: BatchCall): boolean {
    if (this.#isBarred) return false;
    const holding = isSequential(one) ? this.#waiting : this.#barriers;
    for (const { index } of holding) if (index < one.index) return true;
    return false;
  }

  /** Whether nothing runs beside a call. The steps of a run inside a call are in one order if the journal wants that. */
  isAlone(one: BatchCall): boolean {
    return isSequential(one) || (one.agent !== undefined && this.#run.journal.ordered === true);
  }

  /** Whether a call would begin at once if nothing limited how many run beside each other. */
  isFree(one: BatchCall): boolean {
    const isAfter = this.#todo.some((other) => isSequential(other) && other.index < one.index);
    return !isSequential(one) && !isAfter && !this.#isHeld(one);
  }

  /** Takes calls that replay their records, whatever they would have to wait for. */
  takeRecorded(recorded: ReadonlySet<BatchCall>): readonly BatchCall[] {
    const taken = this.#todo.filter((one) => recorded.has(one)).reverse();
    if (taken.length > 0) this.#todo = this.#todo.filter((one) => !recorded.has(one));
    for (const one of taken) one.awaitsTurn = true;
    return taken;
  }

  /** Takes back calls that have begun, as far as they wait: they are the next to go on. */
  takeBack(begun: readonly BatchCall[]): void {
    const left = [...new Set(begun)].filter((one) => this.#waiting.has(one));
    for (const one of left) one.hasBegun = true;
    this.#addTodo(left);
  }

  #addTodo(calls: readonly BatchCall[]): void {
    this.#hasDropped = false;
    this.#todo = [...this.#todo, ...calls].sort((a, b) => b.index - a.index);
  }

  /** Takes note of what a call that began has come to: it is over, it waits, or somebody has to decide about it first. */
  note(one: BatchCall): void {
    if (one.suspended === undefined) this.#leave(one);
    else this.#wait(one);
    if (isOverFatally(one)) this.#isBarred = true;
  }

  /** Takes calls that somebody was asked about again. */
  takeDecided(calls: readonly BatchCall[]): void {
    // A call that was refused in this execution is marked as live.
    for (const one of calls) this.#add(one, false);
    this.#addTodo([]);
  }

  /** Ends a call that waits, so that it never runs. */
  drop(one: BatchCall): void {
    this.#leave(one);
    one.question = undefined;
    one.outcome = { call: one.call, durationMs: 0, kind: "not-run" };
    this.#tell(one, true);
  }

  #add(one: BatchCall, isLive: boolean): void {
    if (one.question !== undefined) {
      hold(one);
      this.#wait(one);
    } else if (one.outcome === undefined) {
      one.agent = this.#run.registry.agentOf?.(one.call.name) as RunnableAgent | undefined;
      this.#todo.push(one);
    } else {
      if (!one.isTold) this.#tell(one, isLive);
      if (isOverFatally(one)) this.#isBarred = true;
    }
  }

  #tell(one: BatchCall, isLive: boolean): void {
    one.isLive ??= isLive;
    one.isTold = true;
    if (one.outcome !== undefined) sendBoth(this.#run, one.outcome, one.isLive);
  }

  #wait(one: BatchCall): void {
    this.#waiting.add(one);
    if (isSequential(one)) this.#barriers.add(one);
  }

  #leave(one: BatchCall): void {
    this.#waiting.delete(one);
    this.#barriers.delete(one);
  }
}

function isSequential({ ready }: BatchCall): boolean {
  return ready?.definition.sequential === true;
}

function isOverFatally({ outcome }: BatchCall): boolean {
  return outcome !== undefined && isFatal(outcome);
}

/** Keeps a call that has not begun. Nothing is said of it until it does. */
export function hold(one: BatchCall): void {
  one.outcome = { call: one.call, durationMs: 0, kind: "not-run" };
  one.isLive = true;
}

/** How a call ended, or how the run inside it was suspended, and whether that happened in this execution. */
export interface CallEnd {
  readonly outcome: ToolOutcome;
  readonly isLive: boolean;
  readonly suspended?: Ending | undefined;
}

/** Writes down how a call ended, of which listeners know. */
export function end(one: BatchCall, { outcome, isLive, suspended }: CallEnd): void {
  one.outcome = outcome;
  one.isLive = isLive;
  one.isTold = true;
  one.suspended = suspended;
}

/** Leaves a call to somebody who has to decide about it first. */
export function leaveOpen(one: BatchCall, mustAsk: BatchCall["mustAsk"]): void {
  one.isOpen = true;
  one.mustAsk = mustAsk;
  one.outcome = undefined;
  one.isLive = undefined;
  one.suspended = undefined;
}

/** Admits the calls of one batch, in call order. */
export interface Room {
  /** Whether no further call fits, whatever becomes of those before it. */
  isFull(): boolean;
  /** Counts a call. False if it does not fit any more. */
  admit(one: BatchCall): boolean;
}

/**
 * Counts what `maxToolCalls` leaves room for: of a batch that crosses it, the first calls that fit run. With 2 calls left, the third ready
 * call of a batch does not run. Only the run's own count is looked at, which a replay finds the same; what runs beside each other have
 * left of a common limit is looked at when a call is dispatched.
 */
export function createRoom({ state, bounds }: Run): Room {
  let left = state.toolLimitReached ? 0 : bounds.maxToolCalls - state.toolCallsExecuted;
  // A call that waits may be denied, and leaves its place then.
  let isOpen = false;
  return {
    isFull: () => left <= 0 && !isOpen,
    admit: ({ outcome, question }) => {
      isOpen ||= question !== undefined;
      // A call that waits for a decision counts as one that runs. Otherwise a call after it would run now, and it would not fit later.
      // So does one that waited until its run ended: it has kept its place until then.
      if (outcome === undefined || outcome.kind === "not-run") left -= 1;
      return outcome !== undefined || left >= 0;
    },
  };
}

/** Ends the calls that do not fit into `maxToolCalls`. */
export function limitCalls(run: Run, calls: readonly BatchCall[]): void {
  const room = createRoom(run);
  for (const one of calls) {
    if (room.admit(one)) continue;
    one.question = undefined;
    one.outcome = limitOf(one);
  }
}

/** The outcome of a call that does not fit into `maxToolCalls`. */
export function limitOf({ call }: BatchCall): ToolOutcome {
  return { call, durationMs: 0, kind: "limit" };
}
