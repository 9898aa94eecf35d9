import { DBOS } from "@dbos-inc/dbos-sdk";
import { Client, Pool } from "pg";
import { afterEach, describe, expect, it, vi } from "vitest";
import { defineDurableLoop } from "turnwright/dbos";
import { createMockProvider, text } from "turnwright/testing";
import { PostgresStore } from "../../src/dbos/postgres-store.ts";
import { Takeovers } from "../../src/dbos/takeovers.ts";
import { useWorker } from "./use-database.ts";

const database = useWorker({ runsLoops: false });

const loop = defineDurableLoop({
  name: "loop",
  options: () => ({ provider: createMockProvider(() => text("Done.")), messages: [{ role: "user" as const, content: "Go." }] }),
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe("two workers that notice a dead worker at the same time", () => {
  it("put the dead worker's runs back into the queue only once", async () => {
    // This run belongs to another application, so the worker of this test must not take it over.
    await loop.start("orphan", {});
    await database.pool.query(`INSERT INTO turnwright.workers VALUES ('dead', 'shop', 1000, '-infinity')`);
    await database.pool.query(
      `UPDATE dbos.workflow_status SET status = 'PENDING', executor_id = 'dead', attributes = '{"turnwright": "shop"}'`,
    );
    const sessions = [1, 2].map(() => new Client({ connectionString: database.url }));
    for (const session of sessions) await session.connect();
    const [first, second] = sessions.map((session, index) => {
      const takeovers = new Takeovers(database.pool, { id: `alive-${index}`, application: "shop", isBusyWith: () => false });
      return () => takeovers.sweep(session);
    });
    const list = DBOS.listWorkflows.bind(DBOS);
    const resume = vi.spyOn(DBOS, "resumeWorkflows");
    vi.spyOn(DBOS, "listWorkflows").mockImplementationOnce(async (input) => {
      const found = await list(input);
      await second?.();
      return found;
    });
    await first?.();
    expect(resume.mock.calls.map(([ids]) => ids)).toEqual([["orphan"]]);
    const { rows } = await database.pool.query("SELECT status FROM dbos.workflow_status");
    expect([rows, (await database.pool.query("SELECT 1 FROM turnwright.workers WHERE id = 'dead'")).rowCount]).toEqual([
      [{ status: "ENQUEUED" }],
      0,
    ]);
    for (const session of sessions) await session.end();
  });
});

describe("two messages to a durable run", () => {
  it("become visible in the order in which they were sent", async () => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query("BEGIN");
    // The store must use the connection with the open transaction. A pool could use any connection.
    const slow = new PostgresStore(client as unknown as Pool, "slow");
    const store = new PostgresStore(database.pool, "fast");
    const steer = (content: string) => ({ verb: "steer" as const, message: { role: "user" as const, content } });
    await slow.send("chat", steer("First."));
    const sent: string[] = [];
    const second = store.send("chat", steer("Second.")).then(() => sent.push("Second."));
    const waiters = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    while (sent.length === 0 && (await database.pool.query(waiters)).rowCount === 0) await new Promise(setImmediate);
    expect(await store.readMessages("chat", 0)).toEqual([]);
    await client.query("COMMIT");
    await second;
    const read = await store.readMessages("chat", 0);
    expect(read.map(({ body }) => body)).toEqual([steer("First."), steer("Second.")]);
    await client.end();
  });
});

describe("PostgresStore.migrate()", () => {
  it("leaves no connection open if the database connection is lost", async () => {
    const own = new Pool({ connectionString: database.url });
    own.on("error", () => {});
    own.on("connect", (client) => client.on("error", () => {}));
    const holder = await database.pool.connect();
    await holder.query("BEGIN; UPDATE turnwright.schema SET version = 1; LOCK TABLE turnwright.schema");
    const created = new PostgresStore(own, "new").migrate().catch((error: unknown) => error);
    const end = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'relation' AND NOT granted";
    while ((await database.pool.query(end)).rowCount === 0) await new Promise(setImmediate);
    expect(await created).toMatchObject({ code: "57P01" });
    await holder.query("ROLLBACK");
    holder.release();
    await own.end();
  });

  it("converts version 1 tables, and does not touch current tables", async () => {
    const columns = async (): Promise<unknown> =>
      (
        await database.pool.query(
          "SELECT column_name FROM information_schema.columns WHERE table_schema = 'turnwright' AND table_name = 'runs'",
        )
      ).rowCount;
    await database.pool.query(
      "UPDATE turnwright.schema SET version = 1; ALTER TABLE turnwright.runs DROP COLUMN worker, DROP COLUMN claim",
    );
    const store = new PostgresStore(database.pool, "new");
    await store.migrate();
    expect(await columns()).toBe(6);
    const holder = await database.pool.connect();
    await holder.query("BEGIN; LOCK TABLE turnwright.runs IN SHARE MODE");
    await store.migrate();
    await holder.query("ROLLBACK");
    holder.release();
  });
});

/** Starts a run, and marks it as failed in the database. */
async function startFailed(id: string): Promise<void> {
  await loop.start(id, {});
  await database.pool.query("UPDATE dbos.workflow_status SET status = 'ERROR', completed_at = 1 WHERE workflow_uuid = $1", [id]);
}

const isLive = { code: "invalid-option", details: { received: "the id of a live run" } };

describe("a durable run's result promise", () => {
  it("rejects if the run was deleted right after it ended", async () => {
    const list = vi.spyOn(DBOS, "listWorkflows");
    await loop.start("gone", {});
    const result = loop.result("gone").catch((error: unknown) => error);
    // Waits until the pending `result` has asked for the state of the live run.
    await vi.waitFor(() => expect(list.mock.calls.length).toBeGreaterThan(0));
    await Promise.all(list.mock.results.map(({ value }) => value));
    await database.pool.query("UPDATE dbos.workflow_status SET status = 'ERROR', completed_at = 1 WHERE workflow_uuid = 'gone'");
    await database.worker.deleteRuns({ ids: ["gone"] });
    await database.pool.query("SELECT pg_notify('turnwright_ends', 'gone')");
    expect(await result).toMatchObject({ code: "invalid-option", details: { received: "an unknown id" } });
  });
});

describe("a failed durable run", () => {
  it("rejects a retry while the run is being deleted", async () => {
    await startFailed("deleted");
    let retried: Promise<unknown> = Promise.resolve();
    const list = DBOS.listWorkflows.bind(DBOS);
    vi.spyOn(DBOS, "listWorkflows").mockImplementationOnce(async (input) => {
      const found = await list(input);
      retried = loop.retry("deleted").catch((error: unknown) => error);
      for (let reads = 0; reads < 50; reads += 1) await database.pool.query("SELECT 1");
      return found;
    });
    expect(await database.worker.deleteRuns({ ids: ["deleted"] })).toBe(1);
    expect(await retried).toMatchObject({ code: "invalid-option", details: { received: "an unknown id" } });
  });

  it("is retried only once by two parallel retries", async () => {
    await startFailed("twice");
    const retries = await Promise.allSettled([loop.retry("twice"), loop.retry("twice")]);
    expect(retries.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(retries.find(({ status }) => status === "rejected")).toMatchObject({ reason: isLive });
    await expect(loop.retry("twice")).rejects.toMatchObject(isLive);
  });
});
