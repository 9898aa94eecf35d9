import { DBOS } from "@dbos-inc/dbos-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Journal } from "turnwright";
import { journalSuite, type JournalSuiteSetup } from "turnwright/testing";
import { dbosJournal } from "turnwright/dbos";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";

let postgres: Postgres;

/** The body for the next execution of each workflow, by workflow id. */
const bodies = new Map<string, (journal: Journal) => Promise<void>>();

const suiteRun = DBOS.registerWorkflow(
  async (): Promise<void> => {
    await bodies.get(DBOS.workflowID ?? "")?.(dbosJournal());
    // The workflow stays unfinished, so that a later execution can continue it.
    await new Promise(() => {});
  },
  { name: "suiteRun" },
);

beforeAll(async () => {
  postgres = await startPostgres();
  DBOS.setConfig({ name: "suite", systemDatabaseUrl: postgres.url, applicationVersion: "1", executorID: "a", logLevel: "error" });
  await DBOS.launch();
  await DBOS.registerQueue("suite", { minPollingIntervalMs: 20 });
}, 60_000);

afterAll(async () => {
  await DBOS.shutdown();
  await postgres.stop();
});

const started = new Set<string>();

/** The executions that have not ended. A second call must join the first one, because DBOS runs a workflow only once at a time. */
const live = new Map<string, Promise<unknown>>();

const execute: JournalSuiteSetup["execute"] = <T>(runId: string, body: (journal: Journal) => Promise<T>): Promise<T> => {
  const running = live.get(runId);
  if (running !== undefined) return running as Promise<T>;
  const execution = new Promise<T>((resolve, reject) => {
    bodies.set(runId, (journal) => body(journal).then(resolve, reject));
    begin(runId).catch(reject);
  });
  live.set(runId, execution);
  return execution.finally(() => live.delete(runId));
};

async function begin(runId: string): Promise<void> {
  if (!started.has(runId)) {
    started.add(runId);
    await DBOS.startWorkflow(suiteRun, { workflowID: runId })();
    return;
  }
  await DBOS.cancelWorkflow(runId);
  await DBOS.resumeWorkflow(runId, { queueName: "suite" });
}

describe("journalSuite with dbosJournal", () => {
  const send = (runId: string, key: string, decision: unknown): Promise<void> => DBOS.send(runId, JSON.stringify(decision), key);
  for (const { title, run } of journalSuite({ execute, send, pauseMs: 400, withinMs: 30_000 })) it(title, run, 60_000);
});

describe("dbosJournal", () => {
  it("throws outside a workflow", () => {
    expect(() => dbosJournal()).toThrow('Option "dbosJournal()" must be called inside a DBOS workflow');
  });
});
