import { beforeEach, describe, expect, it } from "vitest";
import { PostgresStore } from "../../src/dbos/postgres-store.ts";
import { NotOwner } from "../../src/host/durable/durable-store.ts";
import { own } from "./own-run.ts";
import { useWorker } from "./use-database.ts";

const database = useWorker({ runsLoops: false });
let runs = 0;
let id = "";

beforeEach(() => {
  id = `run-${(runs += 1)}`;
});

const storeOf = (name: string): PostgresStore => new PostgresStore(database.pool, name);
const nothing = { first: 0, events: ["{}"], records: [], blobs: new Map(), isProgress: false };

describe("PostgresStore.begin()", () => {
  it("rejects a late call from a worker that no longer owns the run, without fencing the owner", async () => {
    await own(database.pool, id, "w1");
    await own(database.pool, id, "w2");
    const begun = await storeOf("w2").begin(id, 1);
    await expect(storeOf("w1").begin(id, 1)).rejects.toBeInstanceOf(NotOwner);
    expect(await storeOf("w2").append(id, begun.execution, nothing)).toBe(true);
  });

  it.each(["ENQUEUED", "SUCCESS", "CANCELLED"])("rejects for a run with the status %s", async (status) => {
    await own(database.pool, id, "w1");
    await database.pool.query("UPDATE dbos.workflow_status SET status = $2 WHERE workflow_uuid = $1", [id, status]);
    await expect(storeOf("w1").begin(id, 1)).rejects.toBeInstanceOf(NotOwner);
  });

  it("changes nothing when it is repeated", async () => {
    await own(database.pool, id, "w1");
    const first = await storeOf("w1").begin(id, 1);
    expect(await storeOf("w1").begin(id, 1)).toEqual(first);
    expect(first.stalls).toBe(0);
  });

  it("counts a stall for each new execution, and fences the earlier execution", async () => {
    await own(database.pool, id, "w1");
    const first = await storeOf("w1").begin(id, 1);
    const second = await storeOf("w1").begin(id, 2);
    expect([second.stalls, await storeOf("w1").append(id, first.execution, nothing)]).toEqual([1, false]);
    await own(database.pool, id, "w2");
    expect((await storeOf("w2").begin(id, 1)).stalls).toBe(2);
  });

  it("rejects a late call from an earlier execution of the same worker", async () => {
    await own(database.pool, id, "w1");
    const newer = await storeOf("w1").begin(id, 2);
    await expect(storeOf("w1").begin(id, 1)).rejects.toBeInstanceOf(NotOwner);
    expect(await storeOf("w1").append(id, newer.execution, nothing)).toBe(true);
  });

  it("waits for a takeover in progress, and then sees the new owner", async () => {
    await own(database.pool, id, "w1");
    const taker = await database.pool.connect();
    await taker.query("BEGIN");
    await taker.query("UPDATE dbos.workflow_status SET status = 'ENQUEUED' WHERE workflow_uuid = $1", [id]);
    const begun = storeOf("w1")
      .begin(id, 1)
      .catch((error: unknown) => error);
    const waiters = "SELECT 1 FROM pg_locks WHERE NOT granted";
    while ((await database.pool.query(waiters)).rowCount === 0) await new Promise(setImmediate);
    await taker.query("COMMIT");
    taker.release();
    expect(await begun).toBeInstanceOf(NotOwner);
  });
});
