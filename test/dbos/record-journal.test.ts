import { describe, it } from "vitest";
import type { Journal, Json } from "turnwright";
import { journalSuite, type JournalSuiteSetup } from "turnwright/testing";
import { own } from "./own-run.ts";
import { createRecordJournal } from "../../src/dbos/define-durable-loop.ts";
import { EventWriter } from "../../src/host/durable/event-writer.ts";
import type { StepHooks } from "../../src/host/durable/durable-store.ts";
import { useStore } from "./use-database.ts";

const database = useStore();

const waiting = new Map<string, (decision: Json) => void>();
const sent = new Map<string, Json>();

async function send(runId: string, key: string, decision: unknown): Promise<void> {
  sent.set(`${runId} ${key}`, decision as Json);
  waiting.get(`${runId} ${key}`)?.(decision as Json);
}

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
  const hooks: StepHooks = {
    repeat: (read) => read(),
    lastRead: 0,
    beforeInbox: async () => {},
    beforeRecord: async () => {},
    record: (record) => {
      const write = writer.writeRecord(record);
      writes.push(write);
      return write;
    },
    receive: async (key) =>
      sent.get(`${runId} ${key}`) ?? new Promise<Json>((resolve) => waiting.set(`${runId} ${key}`, resolve)),
  };
  try {
    return await body(await createRecordJournal(database.store, runId, hooks));
  } finally {
    await Promise.allSettled(writes);
  }
}

describe("journalSuite with the journal of durable loops", () => {
  for (const { title, run } of journalSuite({ execute, send, pauseMs: 400, withinMs: 30_000 })) it(title, run, 60_000);
});
