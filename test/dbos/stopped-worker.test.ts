import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { defineDurableLoop, launchWorker, type Worker } from "turnwright/dbos";
import { createMockProvider, text } from "turnwright/testing";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";

let postgres: Postgres;
let worker: Worker;
let client: Client;
let asked = 0;
let makeOptions: () => Promise<void> = async () => {};

const loop = defineDurableLoop({
  name: "stopped",
  options: async () => {
    await makeOptions();
    return {
      provider: createMockProvider(() => {
        asked += 1;
        return text("Done.");
      }),
      messages: [{ role: "user" as const, content: "Go." }],
    };
  },
});

beforeAll(async () => {
  postgres = await startPostgres();
  worker = await launchWorker({ databaseUrl: postgres.url });
  client = new Client({ connectionString: postgres.url });
  await client.connect();
}, 60_000);

afterAll(async () => {
  vi.restoreAllMocks();
  await client.end();
  await worker.stop();
  await postgres.stop();
});

async function readStatus(id: string): Promise<string | undefined> {
  const text = "SELECT status FROM dbos.workflow_status WHERE workflow_uuid = $1";
  return (await client.query<{ readonly status: string }>(text, [id])).rows[0]?.status;
}

/** Stops the worker, and launches another one. Calls `before` when DBOS is about to shut down. */
async function relaunch(before: () => Promise<void>): Promise<void> {
  const shutdown = DBOS.shutdown.bind(DBOS);
  vi.spyOn(DBOS, "shutdown").mockImplementationOnce(async () => {
    await before();
    await shutdown();
  });
  await worker.stop();
  worker = await launchWorker({ databaseUrl: postgres.url });
}

describe("a stopping worker for durable runs", () => {
  it("lets the next worker take a run that DBOS starts during the shutdown", async () => {
    const started = loop.start("taken", {});
    await relaunch(async () => {
      await started;
      while (["ENQUEUED", undefined].includes(await readStatus("taken"))) await new Promise(setImmediate);
    });
    expect((await loop.result("taken")).text).toBe("Done.");
  }, 30_000);

  it("lets the next worker take a run whose options function is pending", async () => {
    let isMaking: () => void = () => {};
    const making = new Promise<void>((resolve) => (isMaking = resolve));
    let go: () => void = () => {};
    makeOptions = () =>
      new Promise((resolve) => {
        go = resolve;
        isMaking();
      });
    asked = 0;
    await loop.start("making", {});
    await making;
    makeOptions = async () => {};
    await relaunch(async () => {
      go();
      for (let reads = 0; reads < 50; reads += 1) await readStatus("making");
      expect([asked, await readStatus("making")]).toEqual([0, "PENDING"]);
    });
    expect([(await loop.result("making")).text, asked]).toEqual(["Done.", 1]);
  }, 30_000);
});

describe("the second call to worker.stop()", () => {
  it("resolves only when the worker has stopped", async () => {
    let isShut = false;
    const shutdown = DBOS.shutdown.bind(DBOS);
    vi.spyOn(DBOS, "shutdown").mockImplementationOnce(async () => {
      await shutdown();
      isShut = true;
    });
    const first = worker.stop();
    await worker.stop();
    expect(isShut).toBe(true);
    await first;
    worker = await launchWorker({ databaseUrl: postgres.url });
  });
});

/** Returns the ids of connections that wait for the lock of a worker. */
async function readLocking(): Promise<readonly number[]> {
  const text = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT pg_advisory_lock(hash%' AND pid <> pg_backend_pid()";
  return (await client.query<{ readonly pid: number }>(text)).rows.map(({ pid }) => pid);
}

describe("a worker for durable runs whose database session was lost", () => {
  it("reacquires its lock without leaving failed connections open", async () => {
    const name = client.escapeIdentifier(new URL(postgres.url).pathname.slice(1));
    await client.query(`ALTER DATABASE ${name} SET lock_timeout = '50ms'`);
    const locks = `SELECT pid FROM pg_locks JOIN pg_database ON database = pg_database.oid
      WHERE locktype = 'advisory' AND datname = current_database() AND granted = $1`;
    const readLocks = async (isGranted: boolean): Promise<readonly number[]> =>
      (await client.query<{ readonly pid: number }>(locks, [isGranted])).rows.map(({ pid }) => pid);
    const [session] = await readLocks(true);
    // This connection must wait longer than the lock_timeout of the database.
    const other = new Client({ connectionString: postgres.url, options: "-c lock_timeout=0" });
    await other.connect();
    const locked = other.query("SELECT pg_advisory_lock(hashtextextended($1, 0))", [worker.id]);
    while ((await readLocks(false)).length === 0) await new Promise(setImmediate);
    await client.query("SELECT pg_terminate_backend($1)", [session]);
    await locked;
    const tried = new Set<number>();
    while (tried.size < 3) for (const one of await readLocking()) tried.add(one);
    await other.end();
    while ((await readLocks(true)).length === 0) await new Promise(setImmediate);
    while ((await readLocking()).length > 0) await new Promise(setImmediate);
    await loop.start("heard", {});
    expect((await loop.result("heard")).text).toBe("Done.");
    await client.query(`ALTER DATABASE ${name} RESET lock_timeout`);
  }, 30_000);
});

/** Passes connections on to Postgres. After `freeze`, passes nothing on, like a server that does not answer. */
async function startProxy(databaseUrl: string) {
  const { hostname, port } = new URL(databaseUrl);
  const open = new Set<Socket>();
  let isFrozen = false;
  // A connection that the worker only half closes stays open.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const upstream = connect(Number(port), hostname);
    open.add(socket);
    socket.on("data", (data) => isFrozen || upstream.write(data));
    upstream.on("data", (data) => isFrozen || socket.write(data));
    socket.on("error", () => {});
    upstream.on("error", () => {});
    socket.once("close", () => {
      open.delete(socket);
      upstream.destroy();
    });
    upstream.once("close", () => isFrozen || socket.destroy());
  });
  server.listen({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  const address = server.address();
  const url = new URL(databaseUrl);
  url.port = String(typeof address === "object" && address !== null ? address.port : 0);
  /** Writes to all connections, because only a connection that the worker has closed completely then fails. */
  const countOpen = (): number => {
    for (const socket of open) socket.write("x");
    return open.size;
  };
  return { url: url.href, countOpen, freeze: () => (isFrozen = true), stop: () => server.close() };
}

describe("a worker for durable runs whose database no longer answers", () => {
  it("rejects listRuns() and deleteRuns() after answerMs, and closes its connections when it stops", async () => {
    await worker.stop();
    const proxy = await startProxy(postgres.url);
    const frozen = await launchWorker({ databaseUrl: proxy.url, answerMs: 200 });
    proxy.freeze();
    const late = (what: string) => expect.stringContaining(`The call to "${what}" received no answer within 200 ms`);
    await expect(frozen.listRuns()).rejects.toMatchObject({ message: late("listRuns") });
    await expect(frozen.deleteRuns({ ids: ["a"] })).rejects.toMatchObject({ message: late("deleteRuns") });
    expect(proxy.countOpen()).toBeGreaterThan(0);
    await frozen.stop();
    await expect.poll(proxy.countOpen).toBe(0);
    proxy.stop();
    worker = await launchWorker({ databaseUrl: postgres.url });
  }, 30_000);
});

describe("launchWorker() while another process launches a worker", () => {
  it("touches no table, and waits without holding a snapshot that would block DBOS migrations", async () => {
    await worker.stop();
    const fresh = await startPostgres();
    const other = new Client({ connectionString: fresh.url });
    await other.connect();
    await other.query("SELECT pg_advisory_lock(7233410002)");
    const launching = launchWorker({ databaseUrl: fresh.url, runsLoops: false });
    const tries = new Set<string>();
    const readTries = `SELECT query_start::text AS begun, wait_event_type AS waits FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE 'SELECT pg_try_advisory_lock(%' AND pid <> pg_backend_pid()`;
    await expect
      .poll(async () => {
        for (const { begun, waits } of (await other.query<{ begun: string; waits: string }>(readTries)).rows) {
          if (waits !== "Lock") tries.add(begun);
        }
        return tries.size;
      })
      .toBeGreaterThan(2);
    expect((await other.query("SELECT to_regclass('turnwright.schema') AS name")).rows).toEqual([{ name: null }]);
    await other.end();
    await (await launching).stop();
    await fresh.stop();
    worker = await launchWorker({ databaseUrl: postgres.url });
  }, 30_000);
});
