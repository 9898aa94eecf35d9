import { type Journal, type LoopResult, memoryJournal, type Provider, type SavedJournal, type ToolContext } from "turnwright";
import { createMockProvider, type MockMessage } from "turnwright/testing";

export type Log = string[];

export function scriptOf(runKey: string, turns: readonly MockMessage[], log: Log): Provider {
  return createMockProvider(({ messages }) => {
    const iteration = messages.filter(({ role }) => role === "assistant").length;
    log.push(`${runKey}i${iteration}/request/model`);
    return turns[iteration];
  });
}

export const keyOf = ({ idempotencyKey }: ToolContext): string => idempotencyKey.replace("tree/", "");

export function stepsOf({ journal }: LoopResult): SavedJournal["steps"] {
  const { steps } = JSON.parse(JSON.stringify(journal)) as SavedJournal;
  return steps;
}

export const over = (entries: readonly (readonly [string, unknown])[]): Journal =>
  memoryJournal({ steps: Object.fromEntries(entries) } as never);
