// Plays one run in several processes, one after another. The journal outlives each process.

import { join } from "node:path";
import {
  type Journal,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  runToolLoop,
  type SavedJournal,
  type Tool,
} from "turnwright";
import { fileJournal, replayJournal } from "turnwright/journal";
import { createMockProvider, type MockProvider, type MockMessage } from "turnwright/testing";
import { makeFolder } from "./folder.ts";

export type OpenNext = () => Journal;

export const keepings: readonly (readonly [name: string, make: () => OpenNext])[] = [
  ["a saved journal in memory", keepInMemory],
  ["a journal file", keepInFile],
];

function keepInMemory(): OpenNext {
  let journal = memoryJournal();
  return () => {
    const saved: SavedJournal = JSON.parse(JSON.stringify(journal));
    journal = memoryJournal(saved);
    return journal;
  };
}

function keepInFile(): OpenNext {
  const path = join(makeFolder(), "run.jsonl");
  return () => fileJournal(path, { fsync: false });
}

interface Life {
  readonly result: LoopResult;
  readonly provider: MockProvider;
}

/** Starts the next process of a run. `turns` are the messages of the model, and `more` are options for this process only. */
export type Live = (turns: readonly MockMessage[], more?: Partial<LoopOptions>) => Promise<Life>;

export function createLives(open: OpenNext, tools: readonly Tool[], own: Partial<LoopOptions> = {}): Live {
  return async (turns, more = {}) => {
    const provider = createMockProvider(turns);
    const messages = [{ role: "user" as const, content: "Go." }];
    const result = await runToolLoop({ provider, tools, messages, runId: "lives", journal: open(), ...own, ...more });
    return { result, provider };
  };
}

/** Returns a result as JSON. Omits its journal, and also `undelivered`, which another process cannot return. */
export function plainOf({ journal: _, undelivered: __, ...rest }: LoopResult): unknown {
  return JSON.parse(JSON.stringify(rest));
}

export const playAgain = (open: OpenNext): Journal => replayJournal(open());
