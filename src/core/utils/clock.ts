// The real clock: monotonic milliseconds and the platform's own timers.

import type { Clock } from "../types/common.ts";

/** The longest time that a timer can be set to, in milliseconds; above it timers fire at once. */
export const longestTimerMs: number = 2 ** 31 - 1;

/** The platform's clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (fn, ms) => setTimeout(fn, ms),
  clearTimeout: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout>),
};
