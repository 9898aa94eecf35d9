// The calls of one batch: which may begin next, which wait, and how the others ended. Only this class knows which calls wait. The
// same rules therefore apply before the first call, after each wave, and when a suspended batch is resumed.

import type { ToolOutcome } from "../../types/tool-outcome.ts";
import { isFatal } from "../../tools/outcome-texts.ts";
import { callKey, type CallStep } from "../state/step-key.ts";
import { sendBoth } from "./replay-call.ts";
import type { BatchCall, Run, RunnableAgent } from "../run/run.ts";

export class Batch {
  readonly #run: Run;
  /** Calls that have not begun, in reverse order: the next one is the last. */
  #todo: BatchCall[] = [];
  /** The calls that wait, and those among them that hold back all calls after them. */
  readonly #waiting = new Set<BatchCall>();
  readonly #barriers = new Set<BatchCall>();
  #isBarred = false;
  #hasDropped = false;

  constructor(run: Run, calls: readonly BatchCall[]) {
    this.#run = run;
    for (const one of calls) this.#add(one, !run.replayed);
    this.#todo.reverse();
  }

  /** True if nothing more may begin, because a call failed fatally or the run was ended. */
  get isBarred(): boolean {
    return this.#isBarred;
  }

  /** True if every call is over. */
  get isDone(): boolean {
    return this.#todo.length === 0 && this.#waiting.size === 0;
  }

  /** Calls that have not begun. */
  get todo(): readonly BatchCall[] {
    return this.#todo;
  }

  /** True if some of these calls have begun and wait to go on. */
  get hasBegun(): boolean {
    return this.#todo.some(({ hasBegun }) => hasBegun);
  }

  /** True if a run inside one of the calls was told to drain. */
  get isDrained(): boolean {
    return [...this.#waiting].some(({ suspended }) => suspended?.reason.kind === "drained");
  }

  /** The calls that wait for a decision or their result. */
  get awaiting(): readonly BatchCall[] {
    return [...this.#waiting].filter(({ question }) => question !== undefined);
  }

  /** The calls whose results were deferred and not asked for yet. */
  get deferred(): readonly BatchCall[] {
    return [...this.#waiting].filter(isDeferred);
  }

  /** Prevents all further calls from beginning. */
  bar(): void {
    this.#isBarred = true;
  }

  /** Ends the dispatch. Calls that have not begun emit no events. */
  finish(): void {
    for (const one of this.#todo) if (!one.hasBegun) hold(one);
  }

  /**
   * Takes the calls that may begin now and run at the same time. Empty if all others wait. Calls may overtake waiting calls, but
   * not a sequential one. A sequential call begins when all calls before it are over, and calls after it begin when it is over.
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

  /** Takes the next call that may begin while `running` calls run; undefined if none may. */
  takeNext(running: number): BatchCall | undefined {
    if (running >= this.#run.bounds.toolConcurrency) return undefined;
    this.#dropBegun();
    const one = this.#findNext();
    if (one === undefined || (running > 0 && this.isAlone(one))) return undefined;
    this.#todo.splice(this.#todo.lastIndexOf(one), 1);
    one.isBarred ||= this.#isBarred;
    return one;
  }

  /** Drops calls that have begun from a barred batch. They wait, and waiting calls are ended separately. */
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

  /** True if nothing may run at the same time as a call. Includes runs inside calls if the journal orders its steps. */
  isAlone(one: BatchCall): boolean {
    return isSequential(one) || (one.agent !== undefined && this.#run.journal.ordered === true);
  }

  /** True if a call could begin at once with unlimited concurrency. */
  isFree(one: BatchCall): boolean {
    const isAfter = this.#todo.some((other) => isSequential(other) && other.index < one.index);
    return !isSequential(one) && !isAfter && !this.#isHeld(one);
  }

  /** Takes calls that replay their records, even if they would have to wait. */
  takeRecorded(recorded: ReadonlySet<BatchCall>): readonly BatchCall[] {
    const taken = this.#todo.filter((one) => recorded.has(one)).reverse();
    if (taken.length > 0) this.#todo = this.#todo.filter((one) => !recorded.has(one));
    for (const one of taken) one.awaitsTurn = true;
    return taken;
  }

  /** Takes back calls that have begun and still wait. They go on next. */
  takeBack(begun: readonly BatchCall[]): void {
    const left = [...new Set(begun)].filter((one) => this.#waiting.has(one) && one.question === undefined);
    for (const one of left) one.hasBegun = true;
    this.#addTodo(left);
  }

  #addTodo(calls: readonly BatchCall[]): void {
    this.#hasDropped = false;
    this.#todo = [...this.#todo, ...calls].sort((a, b) => b.index - a.index);
  }

  /** Records the state of a call that began: it is over, it waits, or it needs a decision first. */
  note(one: BatchCall): void {
    if (one.suspended === undefined && !isDeferred(one)) this.#leave(one);
    else this.#wait(one);
    if (isOverFatally(one)) this.#isBarred = true;
  }

  /** Takes calls after another decision, or a result, was requested. */
  takeDecided(calls: readonly BatchCall[]): void {
    // `settleCall` has marked calls that were refused in this execution as live.
    for (const one of calls) this.#add(one, false);
    this.#addTodo([]);
  }

  /** Ends a waiting call: it never runs, or its result is no longer taken. */
  drop(one: BatchCall): void {
    this.#leave(one);
    one.question = undefined;
    one.outcome = cutOff(one);
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
      this.#leave(one);
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

/** True if the tool of a call deferred its result, which was not asked for yet. */
function isDeferred({ deferred, question, outcome }: BatchCall): boolean {
  return deferred !== undefined && question === undefined && outcome === undefined;
}

function isOverFatally({ outcome }: BatchCall): boolean {
  return outcome !== undefined && isFatal(outcome);
}

/** Returns the key of a step of a call. */
export function batchKey({ state }: Run, step: CallStep, { call, index, round }: BatchCall): string {
  return callKey(state, step, { index, name: call.name, round });
}

/** The outcome of a waiting call when its run is ended. */
export function cutOff({ call, deferred }: BatchCall): ToolOutcome {
  return deferred === undefined ? { call, durationMs: 0, kind: "not-run" } : { ...deferred, kind: "interrupted" };
}

/** Gives a call that has not begun, or waits for its result, its preliminary outcome. It emits no events until then. */
export function hold(one: BatchCall): void {
  one.outcome = one.deferred ?? { call: one.call, durationMs: 0, kind: "not-run" };
  one.isLive = true;
}

/** Stores the end of a call whose events were emitted. `isLive` is true if it happened in this execution. */
export function end(one: BatchCall, outcome: ToolOutcome, isLive: boolean): void {
  one.outcome = outcome;
  one.isLive = isLive;
  one.isTold = true;
  one.suspended = undefined;
}

/** Marks a call that needs a decision first. */
export function leaveOpen(one: BatchCall, mustAsk: BatchCall["mustAsk"]): void {
  one.isOpen = true;
  one.mustAsk = mustAsk;
  one.outcome = undefined;
  one.isLive = undefined;
  one.suspended = undefined;
}

/** Admits the calls of one batch, in call order. */
export interface Room {
  /** Returns true if no further call fits, even if waiting calls before it are denied. */
  isFull(): boolean;
  /** Counts a call. Returns false if it does not fit any more. */
  admit(one: BatchCall): boolean;
}

/**
 * Counts the calls that `maxToolCalls` still allows, in call order. With 2 calls left, the third ready call of a batch does not
 * run. It only counts calls of this run, so that a replay gets the same count. A limit shared with sibling runs is checked when a
 * call is dispatched.
 */
export function createRoom({ state, bounds }: Run): Room {
  let left = state.toolLimitReached ? 0 : bounds.maxToolCalls - state.toolCallsExecuted;
  // A waiting call may be denied, which frees its place.
  let isOpen = false;
  return {
    isFull: () => left <= 0 && !isOpen,
    admit: ({ outcome, question }) => {
      isOpen ||= question !== undefined;
      // A call that waits for a decision counts as one that runs. Otherwise a call after it would run now, and the waiting call
      // would not fit later. A call that waited until its run ended counts, too: it kept its place until then.
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
