import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchWorker, type Worker } from "turnwright/dbos";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";
import { Fleet } from "./fleet.ts";
import { trips } from "./known-trips.ts";
import { checkTrips, readText, startTrips, untilToolBegins } from "./trips.ts";

const leaseMs = 1_000;
const folder = mkdtempSync(join(tmpdir(), "turnwright-takeover-"));
const notes = join(folder, "notes.jsonl");
let postgres: Postgres;
let client: Worker;
let fleet: Fleet;

beforeAll(async () => {
  writeFileSync(notes, "");
  postgres = await startPostgres();
  client = await launchWorker({ databaseUrl: postgres.url, leaseMs, runsLoops: false });
  fleet = new Fleet({ databaseUrl: postgres.url, notesPath: notes, leaseMs });
}, 60_000);

afterAll(async () => {
  await fleet.stop();
  await client.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true });
});

describe("a durable run", () => {
  it("is finished by another worker after its first worker was killed", async () => {
    const first = await fleet.start();
    const ids = await startTrips(trips, "killed", 6);
    await untilToolBegins(trips, "killed-0");
    const second = await fleet.start();
    first.kill("SIGKILL");
    await checkTrips(trips, ids, notes);
    second.kill("SIGKILL");
  }, 60_000);

  it("is finished by another worker after its first worker was frozen", async () => {
    const first = await fleet.start();
    const ids = await startTrips(trips, "frozen", 6);
    await untilToolBegins(trips, "frozen-0");
    const second = await fleet.start();
    first.kill("SIGSTOP");
    await checkTrips(trips, ids, notes);
    const before = await Promise.all(ids.map((id) => readText(trips, id)));
    first.kill("SIGCONT");
    // More trips show that both workers still work.
    await checkTrips(trips, await startTrips(trips, "thawed", 6), notes);
    expect(await Promise.all(ids.map((id) => readText(trips, id)))).toEqual(before);
    for (const child of [first, second]) child.kill("SIGKILL");
  }, 60_000);
});
