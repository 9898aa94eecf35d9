// Records that runs leave, and models that any process can ask.

import { type Journal, type LoopResult, memoryJournal, type Provider, type SavedJournal, type ToolContext } from "turnwright";
import { createMockProvider, type MockMessage } from "turnwright/testing";

/** The events in order: the keys of the steps in which a model was asked or a tool ran. */
export type Log = string[];

/** A model that says what comes next in its conversation, in whatever process it is asked. */
export function scriptOf(runKey: string, turns: readonly MockMessage[], log: Log): Provider {
  return createMockProvider(({ messages }) => {
    const iteration = messages.filter(({ role }) => role === "assistant").length;
    log.push(`${runKey}i${iteration}/model`);
    return turns[iteration];
  });
}

/** The key of a call's step, in the run "tree". */
export const keyOf = ({ idempotencyKey }: ToolContext): string => idempotencyKey.replace("tree/", "");

/** Returns the recorded steps of a run. */
export function stepsOf({ journal }: LoopResult): SavedJournal["steps"] {
  const { steps } = JSON.parse(JSON.stringify(journal)) as SavedJournal;
  return steps;
}

/** A journal of a part of that. */
export const over = (entries: readonly (readonly [string, unknown])[]): Journal =>
  memoryJournal({ steps: Object.fromEntries(entries) } as never);
