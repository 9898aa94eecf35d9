// Checks that every run of a hostile model ends correctly, and measures the size of values.

import { expect } from "vitest";
import { createLoopControl, type LoopResult, memoryJournal, runToolLoop } from "turnwright";
import type { Playing } from "./play.ts";
import { checkTranscript, savedOf, untouchable } from "./run-plan.ts";

/** Returns the size of a value in bytes of JSON. */
export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

/**
 * Waits for the result and checks three things: the transcript can be sent, no timers are left, and a replay gives the same
 * result.
 */
export async function endOf(playing: Playing): Promise<LoopResult> {
  const result = await playing.result;
  checkTranscript(result);
  expect(playing.clock.pending).toBe(0);
  const again = await runToolLoop({
    ...playing.options,
    provider: untouchable,
    events: undefined,
    control: createLoopControl(),
    journal: memoryJournal(savedOf(result)),
  });
  // Compares the values as JSON text, because the messages may be large.
  expect(JSON.stringify(again.messages) === JSON.stringify(result.messages)).toBe(true);
  expect([again.status, again.reason, again.toolCallsExecuted]).toEqual([result.status, result.reason, result.toolCallsExecuted]);
  return result;
}
