import { expect } from "vitest";
import { createLoopControl, type LoopResult, memoryJournal, runToolLoop } from "turnwright";
import type { Playing } from "./play.ts";
import { checkTranscript, savedOf, untouchable } from "./run-plan.ts";

export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

/**
 * Waits for the result. Checks that a next request accepts its messages, that no timer is pending, and that a replay gives the same
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
  // Compares JSON text, which is fast even for very large messages.
  expect(JSON.stringify(again.messages) === JSON.stringify(result.messages)).toBe(true);
  expect([again.status, again.reason, again.toolCallsExecuted]).toEqual([result.status, result.reason, result.toolCallsExecuted]);
  return result;
}
