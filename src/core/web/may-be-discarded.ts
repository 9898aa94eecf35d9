import type { LoopEvents } from "../types/loop-event.ts";

/**
 * True if a recorded retry may still discard the message of a finished iteration. A page must not show such a message yet. A
 * message with a call that has run is never discarded.
 */
export function mayBeDiscarded({ replayed, calls }: LoopEvents["iteration-end"]): boolean {
  return replayed === true && calls.every(({ outcome }) => outcome === "not-run");
}
