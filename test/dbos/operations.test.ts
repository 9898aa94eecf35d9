import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineDurableLoop, launchWorker, type Worker } from "turnwright/dbos";
import { createMockProvider, text } from "turnwright/testing";
import { programLoader } from "../../scripts/program-loader.ts";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";
import { defineCrashing } from "./crashing.ts";

const loop = defineCrashing();
/** The processes of the other workers do not define this loop. */
const unknown = defineDurableLoop({
  name: "unknown",
  options: () => ({ provider: createMockProvider(() => text("Done.")), messages: [{ role: "user" as const, content: "Go." }] }),
});
let postgres: Postgres;
let client: Worker;
let alive: ChildProcess | undefined;

function startWorker(): ChildProcess {
  const script = fileURLToPath(new URL("crashing.ts", import.meta.url));
  const args = ["--no-deprecation", "--import", programLoader(), script, postgres.url];
  return spawn(process.execPath, args, { stdio: ["ignore", "ignore", "ignore"] });
}

beforeAll(async () => {
  postgres = await startPostgres();
  client = await launchWorker({ databaseUrl: postgres.url, runsLoops: false });
}, 60_000);

afterAll(async () => {
  alive?.kill("SIGKILL");
  await client.stop();
  await postgres.stop();
});

const soon = (): Date => new Date(Date.now() + 60_000);

describe("a durable run that crashes its process", () => {
  it("ends as failed if more than maxCrashes workers die", async () => {
    await loop.start("crash", { crashes: true });
    for (let crash = 0; crash < 2; crash += 1) expect(await once(startWorker(), "exit")).toEqual([null, "SIGKILL"]);
    alive = startWorker();
    await expect(loop.result("crash")).rejects.toThrow("The run was abandoned because 2 workers in a row died");
    await unknown.start("unknown", {});
    await loop.start("fine", { crashes: false });
    expect((await loop.result("fine")).text).toBe("Done.");
  }, 60_000);
});

describe("a worker for durable runs", () => {
  it("does not take runs of a loop that the worker does not define", async () => {
    const [waiting] = await client.listRuns({ loop: "unknown" });
    expect(waiting).toMatchObject({ id: "unknown", state: "live", workerId: undefined });
    await client.stop();
    client = await launchWorker({ databaseUrl: postgres.url });
    expect((await unknown.result("unknown")).text).toBe("Done.");
    await client.stop();
    client = await launchWorker({ databaseUrl: postgres.url, runsLoops: false });
    expect(await client.deleteRuns({ ids: ["unknown"] })).toBe(1);
  });

  it("lists runs with their states, loops and errors", async () => {
    const runs = await client.listRuns();
    expect(runs.map(({ id, loop: name, state }) => [id, name, state])).toEqual([
      ["fine", "crashing", "ended"],
      ["crash", "crashing", "failed"],
    ]);
    const [failed] = await client.listRuns({ state: "failed", startedBefore: soon(), limit: 1 });
    expect([failed?.id, failed?.error?.slice(0, 21), failed?.startedAt instanceof Date]).toEqual([
      "crash",
      "The run was abandoned",
      true,
    ]);
    expect(await client.listRuns({ state: "live" })).toEqual([]);
    await expect(client.listRuns({ state: "stuck" } as never)).rejects.toMatchObject({ code: "invalid-option" });
  });

  it("deletes ended and failed runs with all stored data", async () => {
    await expect(client.deleteRuns({} as never)).rejects.toMatchObject({ code: "invalid-option" });
    expect(await client.deleteRuns({ endedBefore: new Date(0) })).toBe(0);
    expect(await client.deleteRuns({ endedBefore: soon() })).toBe(2);
    expect([await client.listRuns(), await loop.status("fine")]).toEqual([[], undefined]);
    expect(await loop.start("fine", { crashes: false })).toBe("started");
    expect((await loop.result("fine")).messages).toHaveLength(2);
  });

  it("rejects tables from a later version of the library", async () => {
    await client.stop();
    const session = new Client({ connectionString: postgres.url });
    await session.connect();
    await session.query("UPDATE turnwright.schema SET version = 3");
    const launched = launchWorker({ databaseUrl: postgres.url });
    await expect(launched).rejects.toThrow('The tables in the schema "turnwright" are at version 3');
    await session.query("UPDATE turnwright.schema SET version = 2");
    await session.end();
    client = await launchWorker({ databaseUrl: postgres.url, runsLoops: false });
  });
});
