// Calls the methods of a journal with a time limit, which becomes shorter when the run is cancelled.

import type { Step, StepKind } from "../../types/old-journal.ts";
import { LoopError, type LoopErrorDetails } from "../../errors/loop-error.ts";
import type { Clock, Timeouts } from "../../types/common.ts";
import type { PartialResult } from "../../types/loop-result.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { isRecord } from "../../utils/guards.ts";
import { promiseOrValue } from "../../utils/promises.ts";
import type { Cancellable, CancelScope } from "../../cancellation/cancel-scope.ts";
import type { LoopState } from "../state/loop-state.ts";

interface Breakable {
  readonly failure: { readonly error: unknown } | undefined;
  readonly outer: Breakable | undefined;
}

/** Throws the error that has ended this run or an outer run. After such an error, nothing may be started or recorded. */
export function refuseBroken({ failure, outer }: Breakable): void {
  if (failure !== undefined) throw failure.error;
  if (outer !== undefined) refuseBroken(outer);
}

interface JournalPorts {
  readonly runId: string;
  readonly scope: CancelScope;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly bounds: { readonly wallClockMs: number };
  readonly state: LoopState;
  readonly failure: { readonly error: unknown } | undefined;
  readonly traffic: JournalTraffic;
  readonly outer: JournalPorts | undefined;
  readonly sharesJournal: boolean;
}

export interface StepMark {
  readonly call: JournalCall;
  readonly key: string;
  readonly kind: StepKind;
  /** True if the current execution has started the step's function. */
  live: boolean;
  answer: unknown;
  /** The error with which the step's function has ended. A journal that passes it on has not failed itself. */
  thrown: unknown;
}

type Unresponsive = LoopErrorDetails["journal-unresponsive"];

/**
 * The minimum time that a cancelled run waits for a write of the journal, in milliseconds, unless `timeouts.journalMs` is
 * shorter. Even after a kill, the journal must record the steps that the kill cut short.
 */
const graceMs = 500;

/** How many microtasks a call waits before its timer starts. A journal in memory answers earlier, so its calls need no timer. */
const patientTicks = 8;

const settled = /* @__PURE__ */ Promise.resolve();

/**
 * The pending calls of one journal, for a run and its nested runs. A workflow engine may run only one step at a time. The time
 * limits of all pending calls are therefore paused while a step runs.
 */
export class JournalTraffic {
  #bodies = 0;
  readonly #waiting = new Set<JournalCall>();
  /**
   * True if the run created the journal because the caller passed none. The methods of such a journal always return, so no time
   * limit is needed.
   */
  readonly isOwn: boolean;
  /** True if a workflow engine is the journal. An engine repeats a write until it succeeds or another execution begins. */
  readonly isEngine: boolean;

  constructor(isOwn: boolean = false, isEngine: boolean = false) {
    this.isOwn = isOwn;
    this.isEngine = isEngine;
  }

  get isBusy(): boolean {
    return this.#bodies > 0;
  }

  join(call: JournalCall): void {
    this.#waiting.add(call);
  }

  leave(call: JournalCall): void {
    this.#waiting.delete(call);
  }

  beginBody(): void {
    this.#bodies += 1;
    for (const call of this.#waiting) call.pause();
  }

  endBody(mark: StepMark, answer: unknown, thrown?: unknown): void {
    mark.answer = answer;
    mark.thrown = thrown;
    this.#bodies -= 1;
    if (this.#bodies === 0) for (const call of this.#waiting) call.watch();
  }
}

export class JournalCall implements Cancellable {
  readonly #ports: JournalPorts;
  readonly #verb: Unresponsive["verb"];
  readonly #key: string | undefined;
  #marks: StepMark[] | undefined;
  #giveUp: ((error: LoopError) => void) | undefined;
  #timer: unknown;
  /** Set after the run has stopped waiting for the journal. */
  #left: LoopError | undefined;

  constructor(ports: JournalPorts, verb: Unresponsive["verb"], key?: string) {
    this.#ports = ports;
    this.#verb = verb;
    this.#key = key;
  }

  get marks(): readonly StepMark[] {
    return this.#marks ?? [];
  }

  expect({ key, kind }: Pick<Step<unknown>, "key" | "kind">): StepMark {
    const mark: StepMark = { call: this, key, kind, live: false, answer: undefined, thrown: undefined };
    // Creates the array together with its first element, because V8 reserves memory for 17 elements if the first element is
    // pushed.
    if (this.#marks === undefined) this.#marks = [mark];
    else this.#marks.push(mark);
    return mark;
  }

  /** Throws if the step may no longer run: the run has failed, or it has stopped waiting for the journal. */
  refuseLate(): void {
    if (this.#left !== undefined) throw this.#left;
    refuseBroken(this.#ports);
  }

  /**
   * Returns the error with which the run rejects after the journal has thrown `error`: the same error, with the result so far in
   * `details.partial`. If nothing can be added to the error, it is the cause of LoopError "journal-failed". Does not change errors
   * of `open` and of engines, because nothing is lost, and errors of the steps themselves.
   */
  toFailure(error: unknown): unknown {
    const verb = this.#verb;
    const isOwn = this.marks.some(({ thrown }) => thrown !== undefined && thrown === error);
    if (isOwn || verb === "open" || this.#ports.traffic.isEngine || this.#ports.traffic.isOwn) return error;
    if (this.#addPartial(error)) return error;
    const details: LoopErrorDetails["journal-failed"] = { verb, key: this.#key, problem: toPlainError(error).message };
    return new LoopError("journal-failed", this.#keepPartial(details), { cause: error });
  }

  #addPartial(error: unknown): boolean {
    try {
      if (!(error instanceof Error)) return false;
      const details: unknown = Reflect.get(error, "details") ?? {};
      if (!isRecord(details)) return false;
      this.#keepPartial(details);
      if (!Object.hasOwn(error, "details")) Object.defineProperty(error, "details", { value: details, configurable: true });
      return true;
    } catch {
      // The error is frozen, or another object that cannot be changed.
      return false;
    }
  }

  /** Adds `partial`. It is not enumerable, because its transcript may be large and private, and must not be printed with the error. */
  #keepPartial<Details extends object>(details: Details): Details {
    const value = partialOf(this.#ports, this.marks);
    // Configurable, because a journal may throw the same error in several runs.
    return Object.defineProperty(details, "partial", { value, configurable: true });
  }

  /**
   * Asks the journal, and passes its result to `next`, synchronously if the result is not a promise. Rejects with LoopError
   * "journal-unresponsive" if the result does not arrive in time. A late result goes to `onLate`.
   */
  take<T, Next>(
    ask: () => PromiseLike<T> | T,
    next: (answer: T) => Next | PromiseLike<Next>,
    onLate?: (answer: T) => void,
  ): Next | PromiseLike<Next> {
    let given: Promise<T> | T;
    try {
      given = promiseOrValue(ask());
    } catch (error) {
      throw this.toFailure(error);
    }
    if (!(given instanceof Promise)) return next(given);
    // The journal of the run itself never fails, so its errors need no details.
    return this.#ports.traffic.isOwn ? given.then(next) : this.#race(given, next, onLate);
  }

  #race<T, Next>(
    given: Promise<T>,
    next: (answer: T) => Next | PromiseLike<Next>,
    onLate: ((answer: T) => void) | undefined,
  ): Promise<Next> {
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
          if (end()) reject(this.toFailure(error));
        },
      );
      this.watch();
    });
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

  watch(): void {
    this.#watch(patientTicks);
  }

  #watch(ticks: number): void {
    if (this.#giveUp === undefined || this.#ports.traffic.isBusy) return;
    // Not an async function: each `await` would take three times as much memory.
    if (ticks > 0) void settled.then(() => this.#watch(ticks - 1));
    else if (this.#timer === undefined) this.#arm();
  }

  #arm(): void {
    const limit = this.#findLimit();
    if (limit.ms === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#ports;
    this.#timer = clock.setTimeout(() => this.#expire(limit), Math.max(1, limit.ms));
  }

  #findLimit(): Pick<Unresponsive, "ms" | "ended"> {
    const { scope, timeouts, bounds, state, traffic } = this.#ports;
    const { journalMs = Number.POSITIVE_INFINITY, settleMs } = timeouts;
    const { cause } = scope;
    if (cause === undefined || cause.kind === "interrupt") {
      // The wall clock starts with the first new step. Until then, this timer enforces `wallClockMs`.
      // A run whose recorded time exceeds a smaller limit is still read to its recorded end.
      const isReading = scope.hasWallClock || state.activeMs >= bounds.wallClockMs;
      const leftMs = isReading ? Number.POSITIVE_INFINITY : bounds.wallClockMs - state.activeMs;
      return leftMs < journalMs ? { ms: leftMs, ended: "wall-clock" } : { ms: journalMs };
    }
    const grantedMs = cause.kind === "stop" ? Math.max(settleMs, graceMs) : graceMs;
    return { ms: traffic.isEngine ? journalMs : Math.min(grantedMs, journalMs), ended: cause.kind };
  }

  #expire({ ms, ended }: Pick<Unresponsive, "ms" | "ended">): void {
    const giveUp = this.#giveUp;
    const details: Unresponsive = { verb: this.#verb, key: this.#key, ms, ended };
    this.#left = new LoopError("journal-unresponsive", this.#keepPartial(details));
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

/** Returns the partial result of the run that owns the journal, and the steps that the journal has not confirmed. */
function partialOf(run: JournalPorts, marks: readonly StepMark[]): PartialResult {
  if (run.sharesJournal && run.outer !== undefined) return partialOf(run.outer, marks);
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
