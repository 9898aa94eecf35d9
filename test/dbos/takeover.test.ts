import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchWorker, type Worker } from "turnwright/dbos";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";
import { Fleet } from "./fleet.ts";
import { addSaid, defineTrips, readNotes, type Said } from "./trips.ts";

const leaseMs = 1_000;
const folder = mkdtempSync(join(tmpdir(), "turnwright-takeover-"));
const notes = join(folder, "notes.jsonl");
const trips = defineTrips(notes);
let postgres: Postgres;
let client: Worker;
let fleet: Fleet;

beforeAll(async () => {
  writeFileSync(notes, "");
  postgres = await startPostgres();
  client = await launchWorker({ databaseUrl: postgres.url, leaseMs, executes: false });
  fleet = new Fleet({ databaseUrl: postgres.url, notesPath: notes, leaseMs });
}, 60_000);

afterAll(async () => {
  await fleet.stop();
  await client.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true });
});

/** Starts runs, and returns their ids. */
async function startTrips(prefix: string, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  await Promise.all(ids.map((id) => trips.start(id, { city: `Oslo ${id}` })));
  return ids;
}

/** Waits until a tool of a run has begun. */
async function untilToolBegins(id: string): Promise<void> {
  for await (const { event } of trips.events(id)) if (event.type === "tool-start") return;
}

/** Returns the text that a reader of the events has at the end. */
async function readText(id: string): Promise<string> {
  let said: readonly Said[] = [];
  for await (const { event } of trips.events(id)) said = addSaid(said, event);
  return said.map(({ text }) => text).join("");
}

async function checkTrips(ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const { status, text, iterations } = await trips.result(id);
    expect([id, status, text, iterations]).toEqual([id, "completed", `To Oslo ${id}.`, 3]);
    expect(await readText(id)).toBe(`I look around.To Oslo ${id}.`);
  }
  const own = readNotes(notes).filter(({ key }) => ids.some((id) => key.startsWith(`${id}/`)));
  const begun = own.filter(({ what, tool }) => what === "begin" && tool === "pay").map(({ key }) => key);
  expect(new Set(begun).size).toBe(begun.length);
}

describe("a durable run", () => {
  it("is finished by another worker after a kill, and no unsafe call begins twice", async () => {
    const first = await fleet.start();
    const ids = await startTrips("killed", 6);
    await untilToolBegins("killed-0");
    const second = await fleet.start();
    first.kill("SIGKILL");
    await checkTrips(ids);
    second.kill("SIGKILL");
  }, 60_000);

  it("is finished by another worker after a freeze for longer than the lease, and the thawed worker changes nothing", async () => {
    const first = await fleet.start();
    const ids = await startTrips("frozen", 6);
    await untilToolBegins("frozen-0");
    const second = await fleet.start();
    first.kill("SIGSTOP");
    await checkTrips(ids);
    const before = await Promise.all(ids.map(readText));
    first.kill("SIGCONT");
    // A later run shows that both workers still work.
    await checkTrips(await startTrips("thawed", 6));
    expect(await Promise.all(ids.map(readText))).toEqual(before);
    for (const child of [first, second]) child.kill("SIGKILL");
  }, 60_000);
});
