// The tool calls of one iteration (a batch): calls that can begin, calls that wait, and calls that have ended. Only this class
// knows which calls wait. The same rules therefore apply before the first call, after each group of calls (a wave), and when a
// suspended batch is resumed.

import type { ToolOutcome } from "../../types/tool-outcome.ts";
import { isFatal } from "../../tools/outcome-texts.ts";
import { callKey, type CallStep } from "../state/step-key.ts";
import { keptFactsOf, joinPhases } from "./record-verdicts.ts";
import { sendToolEnd } from "./call-ports.ts";
import type { BatchCall, Run, RunnableAgent } from "../run/run.ts";

export class Batch {
  readonly #run: Run;
  /** True if the registry runs all calls of the batch together, whatever `toolConcurrency` and `sequential` say. */
  readonly isJoined: boolean;
  /** The calls that can begin or continue, in reverse order. The last element is the next call. */
  #todo: BatchCall[] = [];
  /** The calls that wait. `#barriers` contains only the sequential calls that wait, which hold back all later calls. */
  readonly #waiting = new Set<BatchCall>();
  readonly #barriers = new Set<BatchCall>();
  #isBarred = false;
  #hasDropped = false;

  constructor(run: Run, calls: readonly BatchCall[]) {
    this.#run = run;
    this.isJoined = run.registry.joins?.(run.state.messages) === true;
    for (const one of calls) this.#add(one, !run.isIterationReplayed);
    this.#todo.reverse();
  }

  get isBarred(): boolean {
    return this.#isBarred;
  }

  get isDone(): boolean {
    return this.#todo.length === 0 && this.#waiting.size === 0;
  }

  get todo(): readonly BatchCall[] {
    return this.#todo;
  }

  get hasBegun(): boolean {
    return this.#todo.some(({ hasBegun }) => hasBegun);
  }

  get isDrained(): boolean {
    return [...this.#waiting].some(({ suspended }) => suspended?.reason.kind === "drained");
  }

  get awaiting(): readonly BatchCall[] {
    return [...this.#waiting].filter(({ pending }) => pending !== undefined);
  }

  get deferred(): readonly BatchCall[] {
    return [...this.#waiting].filter(isDeferred);
  }

  bar(): void {
    this.#isBarred = true;
  }

  /** Ends the dispatch. Calls that have not begun get a preliminary outcome and emit no events. */
  finish(): void {
    for (const one of this.#todo) if (!one.hasBegun) hold(one);
  }

  /**
   * Takes the calls that may begin now and run at the same time. Returns an empty array if all other calls have to wait. A call
   * may overtake a waiting call, unless the waiting call is sequential. A sequential call begins when all earlier calls have
   * ended, and later calls begin when the sequential call has ended.
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

  takeNext(running: number): BatchCall | undefined {
    if (!this.isJoined && running >= this.#run.bounds.toolConcurrency) return undefined;
    this.#dropBegun();
    const one = this.#findNext();
    if (one === undefined || (running > 0 && this.isAlone(one))) return undefined;
    this.#todo.splice(this.#todo.lastIndexOf(one), 1);
    one.isBarred ||= this.#isBarred;
    return one;
  }

  /**
   * If no further call may begin, removes from `#todo` the calls that have already begun. These calls are also in `#waiting`, so
   * `endWaiting` ends them.
   */
  #dropBegun(): void {
    if (!this.#isBarred || this.#hasDropped) return;
    this.#hasDropped = true;
    this.#todo = this.#todo.filter(({ hasBegun }) => !hasBegun);
  }

  /** Returns the next call. If this call has to wait, returns a call that has already begun instead. */
  #findNext(): BatchCall | undefined {
    const next = this.#todo.at(-1);
    if (next === undefined || next.hasBegun || !this.#isHeld(next)) return next;
    return this.#todo.findLast(({ hasBegun }) => hasBegun);
  }

  #isHeld(one: BatchCall): boolean {
    if (this.#isBarred) return false;
    const holding = this.#isSequential(one) ? this.#waiting : this.#barriers;
    for (const { index } of holding) if (index < one.index) return true;
    return false;
  }

  /**
   * True if no other call may run at the same time. With a journal that orders its steps, also true for a call with a nested run.
   */
  isAlone(one: BatchCall): boolean {
    return this.#isSequential(one) || (one.agent !== undefined && this.#run.journal.ordered === true);
  }

  /** True if the call could begin now with an unlimited `toolConcurrency`. */
  isFree(one: BatchCall): boolean {
    const isAfter = this.#todo.some((other) => this.#isSequential(other) && other.index < one.index);
    return !this.#isSequential(one) && !isAfter && !this.#isHeld(one);
  }

  /** Takes the calls whose records are replayed, even if these calls would otherwise have to wait. */
  takeRecorded(recorded: ReadonlySet<BatchCall>): readonly BatchCall[] {
    const taken = this.#todo.filter((one) => recorded.has(one)).reverse();
    if (taken.length > 0) this.#todo = this.#todo.filter((one) => !recorded.has(one));
    for (const one of taken) one.awaitsTurn = true;
    return taken;
  }

  /** Moves calls that have begun, and still wait, to `#todo` again, so that they continue. */
  takeBack(begun: readonly BatchCall[]): void {
    const left = [...new Set(begun)].filter((one) => this.#waiting.has(one) && one.pending === undefined);
    for (const one of left) one.hasBegun = true;
    this.#addTodo(left);
  }

  #addTodo(calls: readonly BatchCall[]): void {
    this.#hasDropped = false;
    this.#todo = [...this.#todo, ...calls].sort((a, b) => b.index - a.index);
  }

  note(one: BatchCall): void {
    if (one.suspended === undefined && !isDeferred(one)) this.#leave(one);
    else this.#wait(one);
    if (isOverFatally(one)) this.#isBarred = true;
  }

  takeDecided(calls: readonly BatchCall[]): void {
    // `#add` uses `false` only for calls without `isLive`. For calls that this execution refused, `settleCall` has already set
    // `isLive`.
    for (const one of calls) this.#add(one, false);
    this.#addTodo([]);
  }

  drop(one: BatchCall): void {
    this.#leave(one);
    one.pending = undefined;
    one.outcome = cutOff(one);
    this.#emit(one, true);
  }

  #add(one: BatchCall, isLive: boolean): void {
    if (one.pending !== undefined) {
      hold(one);
      this.#wait(one);
    } else if (one.outcome === undefined) {
      this.#leave(one);
      one.agent = this.#run.registry.agentOf?.(one.call.name) as RunnableAgent | undefined;
      this.#todo.push(one);
    } else {
      this.#leave(one);
      if (!one.isEmitted) this.#emit(one, isLive);
      if (isOverFatally(one)) this.#isBarred = true;
    }
  }

  #emit(one: BatchCall, isLive: boolean): void {
    one.isLive ??= isLive;
    one.isEmitted = true;
    // These calls were refused, or their results came from outside, so no tool starts.
    if (one.outcome !== undefined) sendToolEnd(this.#run, one.outcome, one.isLive);
  }

  #isSequential({ ready }: BatchCall): boolean {
    return !this.isJoined && ready?.definition.sequential === true;
  }

  #wait(one: BatchCall): void {
    this.#waiting.add(one);
    if (one.pending !== undefined) this.#run.ports.waiting.add(one.call.callId);
    if (this.#isSequential(one)) this.#barriers.add(one);
  }

  #leave(one: BatchCall): void {
    this.#waiting.delete(one);
    this.#barriers.delete(one);
    this.#run.ports.waiting.delete(one.call.callId);
  }
}

function isDeferred({ deferred, pending, outcome }: BatchCall): boolean {
  return deferred !== undefined && pending === undefined && outcome === undefined;
}

function isOverFatally({ outcome }: BatchCall): boolean {
  return outcome !== undefined && (isFatal(outcome) || (outcome.kind === "denied" && outcome.guardrail?.endsRun === true));
}

export function batchKey({ state }: Run, step: CallStep, { call, index, round, answers }: BatchCall): string {
  return callKey(state, step, { index, name: call.name, round, answers: answers.length });
}

function cutOff({ call, deferred }: Pick<BatchCall, "call" | "deferred">): ToolOutcome {
  return deferred === undefined ? { call, durationMs: 0, kind: "not-run" } : { ...keptFactsOf(deferred), kind: "interrupted" };
}

/** Sets a preliminary outcome for a call that has not begun or that waits for its result. Emits no events. */
export function hold(one: BatchCall): void {
  one.outcome = one.deferred ?? cutOff({ call: one.call, deferred: one.asked });
  one.isLive = true;
}

/** Called after the events of the call were emitted. `isLive` is true if the call ended in this execution. */
export function end(one: BatchCall, outcome: ToolOutcome, isLive: boolean): void {
  one.outcome = joinPhases(one.asked, outcome);
  one.isLive = isLive;
  one.isEmitted = true;
  one.suspended = undefined;
}

export function leaveOpen(one: BatchCall, mustAsk: BatchCall["mustAsk"]): void {
  one.isOpen = true;
  one.mustAsk = mustAsk;
  one.outcome = undefined;
  one.isLive = undefined;
  one.suspended = undefined;
}

export interface Room {
  /**
   * Returns true if `maxToolCalls` allows no further call, not even after the waiting calls are denied. A denied call does not
   * count.
   */
  isFull(): boolean;
  admit(one: BatchCall): boolean;
}

/**
 * Counts the calls that `maxToolCalls` still allows, in call order. For example, if 2 calls are left, the third ready call of a
 * batch does not run. Counts only calls of this run, so that a replay gets the same count. A limit that is shared with sibling
 * runs is checked when a call is dispatched.
 */
export function createRoom({ state, bounds }: Run): Room {
  let left = state.toolLimitReached ? 0 : bounds.maxToolCalls - state.toolCallsExecuted;
  // True if an earlier call waits for a decision. If that call is denied, it does not count, so a later call may run.
  let isOpen = false;
  return {
    isFull: () => left <= 0 && !isOpen,
    admit: ({ outcome, pending }) => {
      isOpen ||= pending !== undefined;
      // A call that waits for a decision is counted like a running call. Otherwise a later call would run now, and the waiting
      // call would exceed the limit after its approval. A call that waited until its run ended ("not-run") is also counted,
      // because the call was counted while it waited.
      if (outcome === undefined || outcome.kind === "not-run") left -= 1;
      return outcome !== undefined || left >= 0;
    },
  };
}

/** `kept` are the recorded calls, which have run before the limit was lowered. */
export function limitCalls(run: Run, calls: readonly BatchCall[], kept: ReadonlySet<BatchCall> | undefined): void {
  const room = createRoom(run);
  for (const one of calls) {
    if (room.admit(one) || kept?.has(one) === true) continue;
    one.pending = undefined;
    one.outcome = limitOf(one);
  }
}

export function limitOf({ call }: BatchCall): ToolOutcome {
  return { call, durationMs: 0, kind: "limit" };
}
