import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Takeovers } from "../../src/dbos/takeovers.ts";
import { own } from "./own-run.ts";
import { useWorker } from "./use-database.ts";

const database = useWorker({ runsLoops: false });
let session: Client;
/** The session of another worker, which holds the lock of that worker. */
let other: Client;
let runs = 0;
let id = "";

beforeAll(async () => {
  [session, other] = [1, 2].map(() => new Client({ connectionString: database.url })) as [Client, Client];
  await session.connect();
  await other.connect();
}, 60_000);

afterAll(async () => {
  await session.end();
  await other.end();
});

beforeEach(async () => {
  id = `run-${(runs += 1)}`;
  await database.pool.query("DELETE FROM turnwright.workers WHERE application = 'shop'");
  await database.pool.query("INSERT INTO turnwright.workers VALUES ('me', 'shop', 1000, now())");
});

async function give(workerId: string): Promise<void> {
  await own(database.pool, id, workerId);
  await database.pool.query(`UPDATE dbos.workflow_status SET attributes = '{"turnwright": "shop"}' WHERE workflow_uuid = $1`, [
    id,
  ]);
}

async function statusOf(): Promise<string> {
  const { rows } = await database.pool.query<{ status: string }>(
    "SELECT status FROM dbos.workflow_status WHERE workflow_uuid = $1",
    [id],
  );
  return rows[0]?.status ?? "";
}

const createTakeovers = (busy = false): Takeovers =>
  new Takeovers(database.pool, { id: "me", application: "shop", isBusyWith: () => busy });

async function sweep(takeovers: Takeovers, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) await takeovers.sweep(session);
}

describe("a run that a worker owns", () => {
  it("returns to its queue after two checks find that the worker is not executing it", async () => {
    await give("me");
    const takeovers = createTakeovers();
    await sweep(takeovers, 39);
    expect(await statusOf()).toBe("PENDING");
    await sweep(takeovers, 1);
    expect(await statusOf()).toBe("ENQUEUED");
  });

  it("stays with the worker if the worker is still executing it", async () => {
    await give("me");
    await sweep(createTakeovers(true), 60);
    expect(await statusOf()).toBe("PENDING");
  });

  it("stays with the worker if the worker has claimed it again since the first check", async () => {
    await give("me");
    const takeovers = createTakeovers();
    await sweep(takeovers, 20);
    await database.pool.query("UPDATE dbos.workflow_status SET updated_at = updated_at + 1 WHERE workflow_uuid = $1", [id]);
    await sweep(takeovers, 20);
    expect(await statusOf()).toBe("PENDING");
  });
});

describe("a run whose execution ended because another execution had begun", () => {
  it.each([
    ["goes back into its queue if its worker still owns it", "me", "ENQUEUED"],
    ["stays with its owner if that is another worker", "somebody", "PENDING"],
  ])("%s", async (_title, owner, status) => {
    await database.pool.query("INSERT INTO turnwright.workers VALUES ('somebody', 'shop', 1e9, now())");
    await other.query("SELECT pg_advisory_lock(hashtextextended('somebody', 0))");
    await give(owner);
    const takeovers = createTakeovers();
    const ended = takeovers.untilEnded(id);
    await sweep(takeovers, 1);
    expect(await statusOf()).toBe(status);
    takeovers.release(id);
    await ended;
    await other.query("SELECT pg_advisory_unlock_all()");
  });

  it("is recognized as ended even if the notification was lost", async () => {
    await give("somebody");
    const takeovers = createTakeovers();
    const ended = takeovers.untilEnded(id);
    await database.pool.query("UPDATE dbos.workflow_status SET status = 'SUCCESS' WHERE workflow_uuid = $1", [id]);
    await sweep(takeovers, 20);
    await ended;
  });
});

describe("another worker", () => {
  it.each([
    { title: "immediately if it was stopped", beat: "'-infinity'", locks: true, sweeps: 1 },
    { title: "after two sweeps if its lock is free", beat: "now()", locks: false, sweeps: 2 },
    { title: "after three sweeps if its heartbeat is late", beat: "now() - interval '1 minute'", locks: true, sweeps: 3 },
  ])("counts as dead $title", async ({ beat, locks, sweeps }) => {
    await database.pool.query(`INSERT INTO turnwright.workers VALUES ('other', 'shop', 1000, ${beat})`);
    if (locks) await other.query("SELECT pg_advisory_lock(hashtextextended('other', 0))");
    await give("other");
    const takeovers = createTakeovers();
    await sweep(takeovers, sweeps - 1);
    expect(await statusOf()).toBe("PENDING");
    await sweep(takeovers, 1);
    expect(await statusOf()).toBe("ENQUEUED");
    await other.query("SELECT pg_advisory_unlock_all()");
  });
});
