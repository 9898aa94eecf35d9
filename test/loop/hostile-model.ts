// What holds for every run, whatever its model does: the end of one whose model is hostile is checked, and weighed.

import { expect } from "vitest";
import { createLoopControl, type LoopResult, memoryJournal, runToolLoop } from "turnwright";
import type { Playing } from "./play.ts";
import { checkTranscript, savedOf, untouchable } from "./run-plan.ts";

/** Bytes of a value as JSON. */
export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

/** The result, once it is known that its transcript can be sent, that nothing is left behind, and that it is told again as it was. */
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
