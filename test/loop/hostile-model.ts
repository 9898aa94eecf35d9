// Checks for the end of every run, even with a hostile model, and a function that measures values.

import { expect } from "vitest";
import { createLoopControl, type LoopResult, memoryJournal, runToolLoop } from "turnwright";
import type { Playing } from "./play.ts";
import { checkTranscript, savedOf, untouchable } from "./run-plan.ts";

/** Returns the size of a value as JSON in bytes. */
export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

/** Returns the result after checking it: the transcript can be sent, no timers are left, and a replay gives the same result. */
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
  // Compares JSON text, because the messages may be large.
  expect(JSON.stringify(again.messages) === JSON.stringify(result.messages)).toBe(true);
  expect([again.status, again.reason, again.toolCallsExecuted]).toEqual([result.status, result.reason, result.toolCallsExecuted]);
  return result;
}
