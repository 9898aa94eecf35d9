import { formatMs } from "../format.ts";
import type { LoggedIteration, LoggedWait } from "../../shared/run-log.ts";

/** Returns what a call waited for, and for how long. Without an id, returns the waits between the stream's attempts. */
export function waitsOf({ waits }: Pick<LoggedIteration, "waits">, callId?: string): readonly LoggedWait[] {
  return waits.filter((wait) => wait.callId === callId);
}

/**
 * The minimum duration of a displayed wait, in milliseconds. Very short waits, such as those for a policy that approves immediately, would
 * hide longer ones.
 */
const minWaitMs = 10;

/** Returns the waits to show: those that are still open or long enough. */
export function longWaitsOf(iteration: Pick<LoggedIteration, "waits">, callId?: string): readonly LoggedWait[] {
  return waitsOf(iteration, callId).filter(({ from, to }) => to === undefined || to - from >= minWaitMs);
}

export const waitNames: { readonly [Kind in LoggedWait["kind"]]: string } = {
  "rate-limit": "wait for the rate limit",
  retry: "wait before the next attempt",
  queue: "wait for other calls",
  approval: "wait for approval",
  "outside-result": "wait for a result from outside",
};

/** Returns a string such as "waited 3.20 s for approval". */
export function describeWait({ kind, from, to }: LoggedWait): string {
  const words = waitNames[kind].slice("wait ".length);
  return to === undefined ? `waits ${words}` : `waited ${formatMs(to - from)} ${words}`;
}
