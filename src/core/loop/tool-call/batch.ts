// The calls of one batch on their way: which may begin next, which wait, and what became of the others. It is the one place that knows
// what waits, so that the same rule holds before the first call, after each wave, and when a suspended batch goes on.

import type { RunnableAgent } from "../run/run.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import { isFatal } from "../../tools/render-outcome.ts";
import { refuse } from "./replay-call.ts";
import type { AwaitingCall, Dispatched } from "../run/call.ts";
import type { Run } from "../run/run.ts";
import type { BatchEntry, OverCall } from "./batch-entry.ts";
import type { Placed } from "./settle-call.ts";

/** A ready call at its position in the batch. */
export interface Entry extends Placed {
  /** Set if the call is a run of its own. */
  readonly agent: RunnableAgent | undefined;
  /** Set behind a fatal failure: it does not begin any more, but what it gave in an execution before this one is replayed. */
  readonly isBarred?: true | undefined;
  /** Set if it is to replay what is recorded, and then to wait for its turn. */
  readonly awaitsTurn?: true | undefined;
  /** Set if it has begun, and waits to go on. */
  readonly hasBegun?: true | undefined;
}

/** A call that waits for a decision, at its position. */
interface PlacedAwaiting {
  readonly index: number;
  readonly entry: AwaitingCall;
}

/** One batch. */
export class Batch {
  readonly #run: Run;
  readonly #dispatched: Dispatched[] = [];
  /** Ready calls that have not begun; the next one is the last. */
  #todo: Entry[] = [];
  /** The positions of the calls that wait, and of those among them that no call after it may overtake. */
  readonly #waiting = new Set<number>();
  readonly #barriers = new Set<number>();
  #isBarred = false;
  #hasDropped = false;

  constructor(run: Run, prepared: readonly BatchEntry[]) {
    this.#run = run;
    prepared.forEach((entry, index) => this.#add(entry, index, !run.replayed));
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

  /** Ready calls that have not begun. */
  get todo(): readonly Entry[] {
    return this.#todo;
  }

  /** Whether calls that have begun wait to go on. */
  get hasBegun(): boolean {
    return this.#todo.some(({ hasBegun }) => hasBegun === true);
  }

  /** Whether a run inside one of the calls was told to drain. */
  get isDrained(): boolean {
    return this.#dispatched.some(isDrained);
  }

  /** The calls that wait for a decision. */
  get awaiting(): readonly PlacedAwaiting[] {
    return [...this.#waiting].flatMap((index) => {
      const entry = this.#dispatched[index]?.awaiting;
      return entry === undefined ? [] : [{ index, entry }];
    });
  }

  /** From now on nothing begins, whatever it would have waited for. */
  bar(): void {
    this.#isBarred = true;
  }

  /** What became of each call, in call order. Of one that has not begun nothing is said. */
  finish(): readonly Dispatched[] {
    for (const { ready, index, hasBegun } of this.#todo) if (hasBegun !== true) this.#dispatched[index] = toHeld(ready);
    return this.#dispatched;
  }

  /**
   * Takes the calls that may begin now, beside each other; none if all others wait. Calls that wait are overtaken, but not across a
   * sequential call: calls after one begin when it is over, and it begins when all before it are.
   */
  takeWave(): readonly Entry[] {
    const wave: Entry[] = [];
    for (;;) {
      const entry = this.takeNext(wave.length);
      if (entry === undefined) return wave;
      wave.push(entry);
      if (this.isAlone(entry)) return wave;
    }
  }

  /** Takes the next call that may begin beside so many others; undefined if none may. */
  takeNext(running: number): Entry | undefined {
    if (running >= this.#run.bounds.toolConcurrency) return undefined;
    this.#dropBegun();
    const entry = this.#findNext();
    if (entry === undefined || (running > 0 && this.isAlone(entry))) return undefined;
    this.#todo.splice(this.#todo.lastIndexOf(entry), 1);
    return this.#isBarred ? { ...entry, isBarred: true } : entry;
  }

  /** Calls that have begun wait, and in a barred batch those that wait are ended apart. */
  #dropBegun(): void {
    if (!this.#isBarred || this.#hasDropped) return;
    this.#hasDropped = true;
    this.#todo = this.#todo.filter(({ hasBegun }) => hasBegun !== true);
  }

  /** The first call that need not wait: the next one, or one that has begun. */
  #findNext(): Entry | undefined {
    const next = this.#todo.at(-1);
    if (next === undefined || next.hasBegun === true || !this.#isHeld(next)) return next;
    return this.#todo.findLast(({ hasBegun }) => hasBegun === true);
  }

  #isHeld(entry: Entry): boolean {
    if (this.#isBarred) return false;
    const holding = isSequential(entry) ? this.#waiting : this.#barriers;
    for (const index of holding) if (index < entry.index) return true;
    return false;
  }

  /** Whether nothing runs beside a call. The steps of a run inside a call are in one order where the journal wants that. */
  isAlone(entry: Entry): boolean {
    return isSequential(entry) || (entry.agent !== undefined && this.#run.journal.ordered === true);
  }

  /** Whether a call would begin at once if nothing limited how many run beside each other. */
  isFree(entry: Entry): boolean {
    const isBehind = this.#todo.some((other) => isSequential(other) && other.index < entry.index);
    return !isSequential(entry) && !isBehind && !this.#isHeld(entry);
  }

  /** Takes those calls that are meant, whatever they would have to wait for. */
  take(isMeant: (entry: Entry) => boolean): readonly Entry[] {
    const taken = this.#todo.filter(isMeant);
    if (taken.length > 0) this.#todo = this.#todo.filter((entry) => !isMeant(entry));
    return taken.map((entry) => ({ ...entry, awaitsTurn: true as const })).reverse();
  }

  /** Takes back calls that have begun, as far as they wait: they are the next to go on. */
  takeBack(begun: readonly Entry[]): void {
    const left = begun.filter(({ index }) => this.#waiting.has(index));
    this.#addTodo(left.map((entry) => ({ ...entry, hasBegun: true as const })));
  }

  #addTodo(entries: readonly Entry[]): void {
    this.#hasDropped = false;
    this.#todo = [...this.#todo, ...entries].sort((a, b) => b.index - a.index);
  }

  /** Takes what a call has come to: its outcome, or that it waits. */
  place(placed: Placed, end: Dispatched): void {
    const { index } = placed;
    this.#dispatched[index] = end;
    if (end.suspended === undefined) this.#leave(index);
    else this.#wait(index, isSequential(placed));
    if (isFatal(end.outcome)) this.#isBarred = true;
  }

  /** Takes what a call of the last wave has become after somebody was asked about it again. */
  replace(calls: readonly { readonly entry: BatchEntry; readonly placed: Placed }[]): void {
    const again: Entry[] = [];
    for (const { entry, placed } of calls) {
      if (entry.kind === "ready") again.push(this.#toEntry({ ...placed, ready: entry }));
      // Refused in an execution before this one, or else it would be over.
      else this.#add(entry, placed.index, false);
    }
    this.#addTodo(again);
  }

  /** The calls of a wave that could not run before somebody is asked about them. */
  findOpen(wave: readonly Entry[]): readonly Placed[] {
    return wave.flatMap(({ ready, index, round }): readonly Placed[] => {
      const mustAsk = this.#dispatched[index]?.outcome.mustAsk;
      return mustAsk === undefined ? [] : [{ ready: { ...ready, mustAsk }, index, round: round + 1 }];
    });
  }

  /** Says of a call that waits that it never runs. */
  drop(index: number, call: ToolCall): void {
    this.#leave(index);
    this.#dispatched[index] = refuse(this.#run, { call, durationMs: 0, kind: "not-run" }, true);
  }

  #add(entry: BatchEntry, index: number, isLive: boolean): void {
    if (entry.kind === "ready") this.#todo.push(this.#toEntry({ ready: entry, index, round: 0 }));
    else if (entry.kind === "awaiting") {
      this.#dispatched[index] = { ...toHeld(entry), awaiting: entry };
      this.#wait(index, entry.isSequential);
    } else if (entry.kind === "over") {
      this.#dispatched[index] = takeOver(this.#run, entry);
      if (isFatal(entry.outcome)) this.#isBarred = true;
    } else this.#dispatched[index] = refuse(this.#run, entry, isLive);
  }

  #wait(index: number, isBarrier: boolean): void {
    this.#waiting.add(index);
    if (isBarrier) this.#barriers.add(index);
  }

  #leave(index: number): void {
    this.#waiting.delete(index);
    this.#barriers.delete(index);
  }

  #toEntry(placed: Placed): Entry {
    return { ...placed, agent: this.#run.registry.agentOf?.(placed.ready.call.name) as RunnableAgent | undefined };
  }
}

function isSequential({ ready: { definition } }: Placed): boolean {
  return definition.sequential === true;
}

function takeOver(run: Run, { outcome, live, announced }: OverCall): Dispatched {
  return announced ? { outcome, live } : refuse(run, outcome, live);
}

function isDrained({ suspended }: Dispatched): boolean {
  return suspended?.reason.kind === "drained";
}

/** A call that has not begun, and of which nothing is said until it does. */
export function toHeld({ call }: { readonly call: ToolCall }): Dispatched {
  return { outcome: { call, durationMs: 0, kind: "not-run" }, live: true };
}
