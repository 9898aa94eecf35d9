import { describe, it } from "vitest";
import type { Journal } from "turnwright";
import { journalSuite } from "turnwright/testing";
import type { JournalSuiteSetup } from "../../src/testing/journal-steps.ts";
import { own } from "./own-run.ts";
import { EventWriter } from "../../src/host/durable/event-writer.ts";
import { createRecordJournal } from "../../src/host/durable/record-journal.ts";
import { useStore } from "./use-database.ts";

const database = useStore();

/**
 * The executions that have not ended. A second call must join the first one, because a worker executes a run only once at a time.
 */
const live = new Map<string, Promise<unknown>>();

const execute: JournalSuiteSetup["execute"] = <T>(runId: string, body: (journal: Journal) => Promise<T>): Promise<T> => {
  const running = live.get(runId) ?? begin(runId, body).finally(() => live.delete(runId));
  live.set(runId, running);
  return running as Promise<T>;
};

let begun = 0;

async function begin<T>(runId: string, body: (journal: Journal) => Promise<T>): Promise<T> {
  await own(database.pool, runId, "tester");
  const writer = await EventWriter.begin(database.store, runId, (begun += 1));
  const writes: Promise<void>[] = [];
  const journal = createRecordJournal(await database.store.readRecords(runId), {
    lastRead: 0,
    beforeLook: async () => {},
    record: (record) => {
      const write = writer.writeRecord(record);
      writes.push(write);
      return write;
    },
  });
  try {
    return await body(journal);
  } finally {
    await Promise.allSettled(writes);
  }
}

describe("journalSuite with the journal of durable loops", () => {
  for (const { title, run } of journalSuite({ execute, pauseMs: 400, withinMs: 30_000 })) it(title, run, 60_000);
});
