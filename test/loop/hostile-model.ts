// Checks that hold for the end of every run, even one with a hostile model, and a way to measure results.

import { expect } from "vitest";
import { createLoopControl, type LoopResult, memoryJournal, runToolLoop } from "turnwright";
import type { Playing } from "./play.ts";
import { checkTranscript, savedOf, untouchable } from "./run-plan.ts";

/** Bytes of a value as JSON. */
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
  // As texts, because they may be large.
  expect(JSON.stringify(again.messages) === JSON.stringify(result.messages)).toBe(true);
  expect([again.status, again.reason, again.toolCallsExecuted]).toEqual([result.status, result.reason, result.toolCallsExecuted]);
  return result;
}
