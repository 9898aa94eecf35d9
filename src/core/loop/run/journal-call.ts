// Calls of a journal, raced against the end of the run.

import type { Journal, Step } from "../../types/journal.ts";
import { LoopError, type LoopErrorDetails } from "../../errors/loop-error.ts";
import type { Clock, Timeouts } from "../../types/common.ts";
import type { PartialResult } from "../../types/loop-result.ts";
import { promiseOrValue } from "../../utils/promises.ts";
import type { Cancellable, CancelScope } from "../../cancellation/cancel-scope.ts";
import type { LoopState } from "../state/loop-state.ts";

/** A run, as far as what broke it is asked for. */
interface Breakable {
  readonly failure: { readonly error: unknown } | undefined;
  readonly outer: Breakable | undefined;
}

/** Throws what broke a run or one around it: nothing is begun or recorded after that, for it would say how the run broke. */
export function refuseBroken({ failure, outer }: Breakable): void {
  if (failure !== undefined) throw failure.error;
  if (outer !== undefined) refuseBroken(outer);
}

/** The journal of the steps. */
interface JournalPart {
  /** The prefix of each key. */
  readonly prefix: string;
  /** Whether the call is over, so that nothing of it runs any more. Default false. */
  readonly isOver?: boolean | undefined;
}

/** A view of a journal in which every key starts with a prefix. */
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

/** The part of a run that a call of the journal uses. */
interface JournalPorts {
  readonly runId: string;
  readonly scope: CancelScope;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly bounds: { readonly wallClockMs: number };
  readonly state: LoopState;
  readonly failure: { readonly error: unknown } | undefined;
  readonly traffic: JournalTraffic;
  /** The run around it, and whether the journal is that one's. */
  readonly outer: JournalPorts | undefined;
  readonly isPart: boolean;
}

/** The end of one step in this execution. */
export interface StepMark {
  /** The request to the journal. */
  readonly call: JournalCall;
  readonly key: string;
  /** Whether its body has run. */
  live: boolean;
  /** The value of the body, if it has ended. */
  answer: unknown;
}

type Unresponsive = LoopErrorDetails["journal-unresponsive"];

/** The least time for a write after the run was ended from outside, in milliseconds: a kill must not lose what it has cut off. */
const graceMs = 500;

/** Most ticks in which a journal that only computes has answered, so that it costs no timer. */
const patientTicks = 8;

/**
 * The steps that are under way in one journal: shared by a run and the runs inside it whose steps it keeps. An engine may do one thing at a time, so a
 * body of any of them holds up all of them.
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

  /** Runs the body of a step. */
  runBody<T>(body: () => PromiseLike<T> | T, mark: StepMark): PromiseLike<T> | T {
    this.#bodies += 1;
    for (const call of this.#waiting) call.pause();
    let answer: Promise<T> | T;
    try {
      answer = promiseOrValue(body());
    } catch (error) {
      this.#endBody(mark, undefined);
      throw error;
    }
    if (!(answer instanceof Promise)) this.#endBody(mark, answer);
    else {
      const end = (given?: unknown): void => this.#endBody(mark, given);
      answer.then(end, () => end());
    }
    return answer;
  }

  #endBody(mark: StepMark, answer: unknown): void {
    mark.answer = answer;
    this.#bodies -= 1;
    if (this.#bodies === 0) for (const call of this.#waiting) call.watch();
  }
}

/** Waits for one answer of a journal. */
export class JournalCall implements Cancellable {
  readonly #ports: JournalPorts;
  readonly #verb: Unresponsive["verb"];
  readonly #key: string | undefined;
  #marks: StepMark[] = [];
  #giveUp: ((error: LoopError) => void) | undefined;
  #timer: unknown;
  /** Set once the journal was left. */
  #left: LoopError | undefined;

  constructor(ports: JournalPorts, verb: Unresponsive["verb"], key?: string) {
    this.#ports = ports;
    this.#verb = verb;
    this.#key = key;
  }

  /** The steps that it is asked for, in order. */
  get marks(): readonly StepMark[] {
    return this.#marks;
  }

  /** Notes a step that it is asked for. */
  expect(key: string): StepMark {
    const mark: StepMark = { call: this, key, live: false, answer: undefined };
    this.#marks.push(mark);
    return mark;
  }

  /** Throws where the step is too late: its run has left the journal, or is broken, or one around it is. */
  refuseLate(): void {
    if (this.#left !== undefined) throw this.#left;
    refuseBroken(this.#ports);
  }

  /** Hands on what the journal gives: at once where it is there, else when it comes. Rejects with LoopError "journal-unresponsive". */
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

  /** The run was ended from outside: from now on the journal has less time. */
  cancel(): void {
    if (this.#timer === undefined) return;
    this.pause();
    this.#arm();
  }

  /** Stops the time: a body has begun. */
  pause(): void {
    if (this.#timer !== undefined) this.#ports.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Starts the time, unless the answer comes within a few ticks. */
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
      // The wall clock starts with the first body: a journal that never comes to one is held to it here.
      const leftMs = scope.hasWallClock ? Number.POSITIVE_INFINITY : Math.max(0, bounds.wallClockMs - state.activeMs);
      return leftMs < journalMs ? { ms: leftMs, ended: "wall-clock" } : { ms: journalMs };
    }
    const grantedMs = cause.kind === "stop" ? Math.max(settleMs, graceMs) : graceMs;
    return { ms: Math.min(grantedMs, journalMs), ended: cause.kind };
  }

  #expire({ ms, ended }: Pick<Unresponsive, "ms" | "ended">): void {
    const giveUp = this.#giveUp;
    const details: Unresponsive = { verb: this.#verb, key: this.#key, ms, ended };
    // A transcript may be large and private: whoever prints the error does not print it.
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

/** The result so far of the outermost run over the journal, and the answers that the journal was to keep last. */
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
