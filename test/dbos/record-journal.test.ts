import { Pool } from "pg";
import { afterAll, beforeAll, describe, it } from "vitest";
import type { Journal, Json } from "turnwright";
import { journalSuite, type JournalSuiteSetup } from "turnwright/testing";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";
import { createOwners, own } from "./own-run.ts";
import { PostgresStore } from "../../src/dbos/postgres-store.ts";
import { createRecordJournal } from "../../src/dbos/define-durable-loop.ts";
import { EventWriter } from "../../src/host/durable/event-writer.ts";
import type { StepHooks } from "../../src/host/durable/durable-store.ts";

let postgres: Postgres;
let pool: Pool;
let store: PostgresStore;

beforeAll(async () => {
  postgres = await startPostgres();
  pool = new Pool({ connectionString: postgres.url });
  // The pool emits an error when the server stops and closes its connections. Without a listener, that error ends the process.
  pool.on("error", () => {});
  store = new PostgresStore(pool, "tester");
  await store.migrate();
  await createOwners(pool);
}, 60_000);

afterAll(async () => {
  await pool.end();
  await postgres.stop();
});

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
  await own(pool, runId, "tester");
  const writer = await EventWriter.begin(store, runId, (begun += 1));
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
    return await body(await createRecordJournal(store, runId, hooks));
  } finally {
    await Promise.allSettled(writes);
  }
}

describe("journalSuite with the journal of durable loops", () => {
  for (const { title, run } of journalSuite({ execute, send, pauseMs: 400, withinMs: 30_000 })) it(title, run, 60_000);
});
