import type { Clock } from "../core/index.ts";

/**
 * A clock whose time changes only when a test calls `advance` or `runAll`. Timers fire in the order of their due times. Timers with
 * the same due time fire in the order in which they were set.
 */
export interface TestClock extends Clock {
  /** The number of timers that are set and have not fired. It is 0 after a run that released all its timers. */
  readonly pending: number;
  /** Runs all pending work that does not wait for a timer or the network. The time does not change. */
  flush(): Promise<void>;
  /** Advances the time by `ms` milliseconds. Fires every timer that becomes due, including timers that are set in the meantime. */
  advance(ms: number): Promise<void>;
  /** Advances the time from timer to timer, until no timer is left. Timers set to `Infinity` do not fire. */
  runAll(): Promise<void>;
}

interface Timer {
  readonly dueAt: number;
  fire(): void;
}

/** `advance` and `runAll` throw after this many timers, because the code under test probably keeps setting new timers. */
const maxTimers = 100_000;

/**
 * Calls `fn` in the next turn of the event loop. Reads `setImmediate` when the module loads, before a test runner can replace it with a
 * fake.
 */
const hostTurn: (fn: () => void) => unknown = globalThis.setImmediate ?? ((fn) => globalThis.setTimeout(fn, 0));

/**
 * Waits for two turns of the event loop. The first turn runs all queued tasks. The second turn runs the tasks that were queued in
 * the first turn.
 */
async function drain(): Promise<void> {
  await new Promise<void>((resolve) => hostTurn(resolve));
  await new Promise<void>((resolve) => hostTurn(resolve));
}

/**
 * Creates a clock that starts at `startMs` (milliseconds, default 0). Only its methods advance the time.
 *
 * `advance` and `runAll` run all microtasks and queued tasks before each timer, so that a timer set in the meantime fires in the right
 * order. Both reject if a timer throws, and after 100,000 timers.
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
    for (let fired = 0; fired < maxTimers; fired += 1) {
      await drain();
      const next = earliestOf(timers.values());
      if (next === undefined || next.dueAt === Number.POSITIVE_INFINITY || next.dueAt > endMs) return;
      timers.delete(next);
      now = Math.max(now, next.dueAt);
      next.fire();
    }
    throw new Error(`The test clock fired ${maxTimers} timers, and more are due. Find the code that keeps restarting its timer.`);
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
      if (!Number.isFinite(ms) || ms < 0)
        throw new RangeError(`advance() expects a non-negative number of milliseconds, but got ${ms}.`);
      const endMs = now + ms;
      await runUntil(endMs);
      now = Math.max(now, endMs);
    },
    runAll: () => runUntil(Number.POSITIVE_INFINITY),
  };
}

/** Returns the earliest timer. If several are due at the same time, returns the one that was set first. */
function earliestOf(timers: Iterable<Timer>): Timer | undefined {
  let earliest: Timer | undefined;
  for (const timer of timers) if (earliest === undefined || timer.dueAt < earliest.dueAt) earliest = timer;
  return earliest;
}
