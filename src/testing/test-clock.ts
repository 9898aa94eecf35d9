// A clock for tests: time stands still until the test moves it.

import type { Clock } from "../core/entry-kit.ts";

/**
 * A clock that a test moves by hand. Timers fire in the order of their due times; timers with the same due time fire in the order
 * in which they were set.
 */
export interface TestClock extends Clock {
  /** The number of timers that are set and have not fired: 0 after a run that left none. */
  readonly pending: number;
  /** Runs everything that waits for neither a timer nor the network. Time stands still. */
  flush(): Promise<void>;
  /** Moves time on by `ms` and fires every due timer, including those that are set meanwhile. */
  advance(ms: number): Promise<void>;
  /** Moves time on to the last timer, until none is left. Timers of `Infinity` stay. */
  runAll(): Promise<void>;
}

interface Timer {
  readonly dueAt: number;
  fire(): void;
}

/** More timers than any test needs. Beyond this, something sets its timer again forever. */
const mostTimers = 100_000;

/** Read when the module is loaded, so that a test runner's fake timers do not affect it. */
const hostTurn: (fn: () => void) => unknown = globalThis.setImmediate ?? ((fn) => globalThis.setTimeout(fn, 0));

/** One turn of the event loop runs all microtasks and queued tasks; a second one runs those that they queued. */
async function drain(): Promise<void> {
  await new Promise<void>((resolve) => hostTurn(resolve));
  await new Promise<void>((resolve) => hostTurn(resolve));
}

/**
 * Makes a clock that starts at `startMs` (milliseconds, default 0) and only moves by its methods.
 *
 * `advance` and `runAll` drain microtasks and queued tasks of the host before each timer, so that a timer that is set meanwhile
 * fires in its order. Both reject with the error of a timer, and with an Error after 100,000 timers.
 *
 * @example
 * const clock = createTestClock();
 * const running = runToolLoop({ provider: createMockProvider([stall()]), messages, clock });
 * await clock.advance(300_000);
 * expect((await running).reason.kind).toBe("first-chunk");
 * expect(clock.pending).toBe(0);
 */
export function createTestClock(startMs = 0): TestClock {
  const timers = new Map<unknown, Timer>();
  let now = startMs;

  async function runUntil(endMs: number): Promise<void> {
    for (let fired = 0; fired < mostTimers; fired += 1) {
      await drain();
      const next = earliestOf(timers.values());
      if (next === undefined || next.dueAt === Number.POSITIVE_INFINITY || next.dueAt > endMs) return;
      timers.delete(next);
      now = Math.max(now, next.dueAt);
      next.fire();
    }
    throw new Error(`The test clock fired ${mostTimers} timers and more are due: something sets its timer again for ever.`);
  }

  return {
    now: () => now,
    setTimeout(fire, ms) {
      const timer: Timer = { dueAt: now + Math.max(0, Number.isNaN(ms) ? 0 : ms), fire };
      timers.set(timer, timer);
      return timer;
    },
    clearTimeout(handle) {
      timers.delete(handle);
    },
    get pending() {
      return timers.size;
    },
    flush: drain,
    async advance(ms) {
      if (!Number.isFinite(ms) || ms < 0) throw new RangeError(`A test clock moves by 0 milliseconds or more, not by ${ms}.`);
      const endMs = now + ms;
      await runUntil(endMs);
      now = Math.max(now, endMs);
    },
    runAll: () => runUntil(Number.POSITIVE_INFINITY),
  };
}

/** Timers come in the order in which they were set, so that the first of equals is the oldest. */
function earliestOf(timers: Iterable<Timer>): Timer | undefined {
  let earliest: Timer | undefined;
  for (const timer of timers) if (earliest === undefined || timer.dueAt < earliest.dueAt) earliest = timer;
  return earliest;
}
