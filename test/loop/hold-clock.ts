// A test clock that simulates blocking code: time passes, but no timer fires.

import { createTestClock, type TestClock } from "turnwright/testing";

export interface HoldClock extends TestClock {
  /** Advances the time by `ms` milliseconds without firing timers. Timers that become due fire at the next call of `advance`. */
  hold(ms: number): void;
}

interface Timer {
  readonly fire: () => void;
  readonly dueAt: number;
  handle: unknown;
}

export function createHoldClock(): HoldClock {
  const clock = createTestClock();
  const timers = new Set<Timer>();
  let held = 0;
  const now = (): number => clock.now() + held;
  const arm = (timer: Timer): void => {
    timer.handle = clock.setTimeout(
      () => {
        timers.delete(timer);
        timer.fire();
      },
      Math.max(0, timer.dueAt - now()),
    );
  };
  return {
    now,
    setTimeout(fire, ms) {
      const timer: Timer = { fire, dueAt: now() + ms, handle: undefined };
      timers.add(timer);
      arm(timer);
      return timer;
    },
    clearTimeout(handle) {
      for (const timer of timers) {
        if (timer !== handle) continue;
        clock.clearTimeout(timer.handle);
        timers.delete(timer);
      }
    },
    get pending() {
      return clock.pending;
    },
    flush: () => clock.flush(),
    advance: (ms) => clock.advance(ms),
    runAll: () => clock.runAll(),
    hold(ms) {
      held += ms;
      for (const timer of timers) {
        clock.clearTimeout(timer.handle);
        arm(timer);
      }
    },
  };
}
