import type { LoopEvents } from "../types/loop-event.ts";

/**
 * True if the message of an iteration that has ended may still be discarded by a recorded retry, so that a page must not show it yet.
 * A message stays if one of its calls has run.
 */
export function mayBeDiscarded({ replayed, calls }: LoopEvents["iteration-end"]): boolean {
  return replayed === true && calls.every(({ outcome }) => outcome === "not-run");
}
