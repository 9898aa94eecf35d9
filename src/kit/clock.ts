// The real clock: monotonic milliseconds and the platform's own timers.

import type { Clock } from "../contract/clock.ts";

/** The platform's clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (fn, ms) => setTimeout(fn, ms),
  clearTimeout: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout>),
};
