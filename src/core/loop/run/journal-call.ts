// Calls of a journal, each raced against the end of the run.

import type { Journal, Step } from "../../types/journal.ts";
import { LoopError, type LoopErrorDetails } from "../../errors/loop-error.ts";
import type { Clock, Timeouts } from "../../types/common.ts";
import type { PartialResult } from "../../types/loop-result.ts";
import { promiseOrValue } from "../../utils/promises.ts";
import type { Cancellable, CancelScope } from "../../cancellation/cancel-scope.ts";
import type { LoopState } from "../state/loop-state.ts";

/** The part of a run that holds the error that broke it. */
interface Breakable {
  readonly failure: { readonly error: unknown } | undefined;
  readonly outer: Breakable | undefined;
}

/** Throws the error that broke a run or one around it. Nothing may begin or be recorded after that. */
export function refuseBroken({ failure, outer }: Breakable): void {
  if (failure !== undefined) throw failure.error;
  if (outer !== undefined) refuseBroken(outer);
}

/** The part of a journal that one call uses. */
interface JournalPart {
  /** The prefix of each key. */
  readonly prefix: string;
  /** True if the call is over, so that none of its steps may run any more. Default false. */
  readonly isOver?: boolean | undefined;
}

/** Returns a view of a journal in which every key starts with a prefix. */
export function prefixJournal(journal: Journal, { prefix, isOver = false }: JournalPart): Journal {
  const within = <T>(step: Step<T>): Step<T> => ({
    ...step,
    key: prefix + step.key,
    run: (call) => {
      if (isOver) throw new LoopError("journal-incomplete", { key: prefix + step.key });
      return step.run(call);
    },
  });
  const has = journal.has?.bind(journal);
  const replays = isOver ? has : journal.replays?.bind(journal);
  const wait = journal.wait?.bind(journal);
  return {
    ...(has === undefined ? {} : { has: (key: string) => has(prefix + key) }),
    ...(replays === undefined ? {} : { replays: (key: string) => replays(prefix + key) }),
    ...(wait === undefined ? {} : { wait: (key: string) => wait(prefix + key) }),
    durable: journal.durable,
    ordered: journal.ordered,
    step: (step) => journal.step(within(step)),
    all: (steps) => journal.all(steps.map(within)),
  };
}

/** The part of a run that a journal call uses. */
interface JournalPorts {
  readonly runId: string;
  readonly scope: CancelScope;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly bounds: { readonly wallClockMs: number };
  readonly state: LoopState;
  readonly failure: { readonly error: unknown } | undefined;
  readonly traffic: JournalTraffic;
  /** The outer run. If `isPart`, the steps of this run are in its journal. */
  readonly outer: JournalPorts | undefined;
  readonly isPart: boolean;
}

/** One step in this execution. */
export interface StepMark {
  /** The request to the journal. */
  readonly call: JournalCall;
  readonly key: string;
  /** True if its body has run. */
  live: boolean;
  /** The result of the body, once it has ended. */
  answer: unknown;
}

type Unresponsive = LoopErrorDetails["journal-unresponsive"];

/**
 * Minimum time for a write after the run was ended from outside, in milliseconds. Even a kill must not lose the record of what it
 * cut off.
 */
const graceMs = 500;

/** Ticks to wait before a timer is started. A journal that only computes answers within them and needs no timer. */
const patientTicks = 8;

/**
 * The pending steps of one journal, which a run shares with the runs inside it. An engine may do one thing at a time, so a
 * running body of any of them pauses the time limits of all.
 */
export class JournalTraffic {
  #bodies = 0;
  readonly #waiting = new Set<JournalCall>();

  get isBusy(): boolean {
    return this.#bodies > 0;
  }

  join(call: JournalCall): void {
    this.#waiting.add(call);
  }

  leave(call: JournalCall): void {
    this.#waiting.delete(call);
  }

  /** A body begins to run. */
  beginBody(): void {
    this.#bodies += 1;
    for (const call of this.#waiting) call.pause();
  }

  /** A body has ended; `answer` is undefined if it threw. */
  endBody(mark: StepMark, answer: unknown): void {
    mark.answer = answer;
    this.#bodies -= 1;
    if (this.#bodies === 0) for (const call of this.#waiting) call.watch();
  }
}

/** Waits for one result of a journal. */
export class JournalCall implements Cancellable {
  readonly #ports: JournalPorts;
  readonly #verb: Unresponsive["verb"];
  readonly #key: string | undefined;
  #marks: StepMark[] = [];
  #giveUp: ((error: LoopError) => void) | undefined;
  #timer: unknown;
  /** Set once the run no longer waits for the journal. */
  #left: LoopError | undefined;

  constructor(ports: JournalPorts, verb: Unresponsive["verb"], key?: string) {
    this.#ports = ports;
    this.#verb = verb;
    this.#key = key;
  }

  /** The requested steps, in order. */
  get marks(): readonly StepMark[] {
    return this.#marks;
  }

  /** Adds a requested step. */
  expect(key: string): StepMark {
    const mark: StepMark = { call: this, key, live: false, answer: undefined };
    this.#marks.push(mark);
    return mark;
  }

  /** Throws if the step comes too late: its run has given up on the journal, or it or an outer run is broken. */
  refuseLate(): void {
    if (this.#left !== undefined) throw this.#left;
    refuseBroken(this.#ports);
  }

  /**
   * Passes the result of the journal to `next`: synchronously if it is there, else when it comes. Rejects with LoopError
   * "journal-unresponsive".
   */
  take<T, Next>(
    answer: PromiseLike<T> | T,
    next: (answer: T) => Next | PromiseLike<Next>,
    onLate?: (answer: T) => void,
  ): Next | PromiseLike<Next> {
    const given = promiseOrValue(answer);
    if (!(given instanceof Promise)) return next(given);
    return new Promise<Next>((resolve, reject) => {
      this.#giveUp = reject;
      this.#ports.scope.join(this);
      this.#ports.traffic.join(this);
      const end = (): boolean => {
        if (this.#left !== undefined) return false;
        this.#leave();
        return true;
      };
      given.then(
        (value) => {
          if (!end()) return onLate?.(value);
          try {
            resolve(next(value));
          } catch (error) {
            reject(error);
          }
        },
        (error: unknown) => {
          if (end()) reject(error);
        },
      );
      this.watch();
    });
  }

  /** Called when the run is ended from outside. The journal has less time from now on. */
  cancel(): void {
    if (this.#timer === undefined) return;
    this.pause();
    this.#arm();
  }

  /** Stops the timer while a body runs. */
  pause(): void {
    if (this.#timer !== undefined) this.#ports.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Starts the timer, unless the result comes within a few ticks. */
  watch(): void {
    if (!this.#ports.traffic.isBusy) void this.#watch();
  }

  async #watch(): Promise<void> {
    for (let tick = 0; tick < patientTicks; tick += 1) {
      await Promise.resolve();
      if (this.#giveUp === undefined || this.#ports.traffic.isBusy) return;
    }
    if (this.#timer === undefined) this.#arm();
  }

  #arm(): void {
    const limit = this.#findLimit();
    if (limit.ms === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#ports;
    this.#timer = clock.setTimeout(() => this.#expire(limit), Math.max(1, limit.ms));
  }

  #findLimit(): Pick<Unresponsive, "ms" | "ended"> {
    const { scope, timeouts, bounds, state } = this.#ports;
    const { journalMs = Number.POSITIVE_INFINITY, settleMs } = timeouts;
    const { cause } = scope;
    if (cause === undefined || cause.kind === "interrupt") {
      // The wall clock starts with the first body. Until then, this limit enforces it.
      const leftMs = scope.hasWallClock ? Number.POSITIVE_INFINITY : Math.max(0, bounds.wallClockMs - state.activeMs);
      return leftMs < journalMs ? { ms: leftMs, ended: "wall-clock" } : { ms: journalMs };
    }
    const grantedMs = cause.kind === "stop" ? Math.max(settleMs, graceMs) : graceMs;
    return { ms: Math.min(grantedMs, journalMs), ended: cause.kind };
  }

  #expire({ ms, ended }: Pick<Unresponsive, "ms" | "ended">): void {
    const giveUp = this.#giveUp;
    const details: Unresponsive = { verb: this.#verb, key: this.#key, ms, ended };
    // Not enumerable: a transcript may be large and private, and must not be printed with the error.
    Object.defineProperty(details, "partial", { value: partialOf(this.#ports, this.#marks) });
    this.#left = new LoopError("journal-unresponsive", details);
    this.#leave();
    giveUp?.(this.#left);
  }

  #leave(): void {
    this.#giveUp = undefined;
    this.#ports.scope.leave(this);
    this.#ports.traffic.leave(this);
    this.pause();
  }
}

/** The partial result of the outermost run of the journal, and the last steps that the journal did not confirm. */
function partialOf(run: JournalPorts, marks: readonly StepMark[]): PartialResult {
  if (run.isPart && run.outer !== undefined) return partialOf(run.outer, marks);
  const { runId, state } = run;
  return {
    runId,
    text: state.finalText.trim(),
    messages: [...state.messages],
    streamResults: [...state.streamResults],
    functionHistory: [...state.functionHistory],
    usage: state.usage,
    costUSD: state.costUSD,
    iterations: state.countedIterations,
    toolCallsExecuted: state.toolCallsExecuted,
    unrecorded: marks.flatMap(({ key, answer }) => (answer === undefined ? [] : [{ key, answer }])),
  };
}
