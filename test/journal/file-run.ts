import type { LoopOptions } from "turnwright";
import { fileJournal } from "turnwright/journal";
import type { FileJournalOptions } from "../../src/journal/journal-session.ts";
import { createMockProvider, type MockMessage, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";

const turns: readonly MockMessage[] = [[toolCall("save", { n: 1 }), toolCall("save", { n: 2 })], text("Done.")];

export interface FileRun {
  readonly options: LoopOptions;
  readonly ran: readonly unknown[];
}

export function runOver(path: string, kept: FileJournalOptions = {}): FileRun {
  const ran: unknown[] = [];
  const save = tool("save", (args) => (ran.push(args), { saved: args }));
  const options: LoopOptions = {
    provider: createMockProvider(({ iteration }) => turns[iteration]),
    tools: [save],
    messages: [{ role: "user", content: "Go." }],
    runId: path,
    journal: fileJournal(path, { fsync: false, ...kept }),
  };
  return { options, ran };
}

/** The body of a step that must be replayed, so the body must not run. */
export function untouched(): never {
  throw new Error("run again");
}
