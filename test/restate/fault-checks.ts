// The checks of durable loops with several workers: takeovers, and a short form of the faults.

import { deepEqual, equal, ok } from "node:assert/strict";
import { defineDurableLoop, launchWorker, type Worker } from "turnwright/restate";
import type { Trips } from "../dbos/run-faults.ts";
import { addSaid, readNotes, type Said, tripsOf } from "../dbos/trips.ts";
import type { Check } from "./checks.ts";
import { Fleet } from "./fleet.ts";
import { runFaults, safeCallsOf } from "./run-faults.ts";

let trips: Trips;
let fleet: Fleet;
let client: Worker;

export async function begin(): Promise<void> {
  trips = defineDurableLoop(tripsOf(""));
  fleet = await Fleet.begin(1_000);
  client = await launchWorker({ ingressUrl: fleet.server.ingressUrl, adminUrl: fleet.server.adminUrl, executes: false });
}

export async function end(): Promise<void> {
  await client.stop();
  await fleet.stop();
}

async function startTrips(prefix: string, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  await Promise.all(ids.map((id) => trips.start(id, { city: `Oslo ${id}` })));
  return ids;
}

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
    deepEqual([id, status, text, iterations], [id, "completed", `To Oslo ${id}.`, 3]);
    equal(await readText(id), `I look around.To Oslo ${id}.`);
  }
  const own = readNotes(fleet.notesPath).filter(({ key }) => ids.some((id) => key.startsWith(`${id}/`)));
  const begun = own.filter(({ what, tool }) => what === "begin" && tool === "pay").map(({ key }) => key);
  equal(new Set(begun).size, begun.length);
}

async function checkKilled(): Promise<void> {
  const first = await fleet.start();
  const ids = await startTrips("killed", 6);
  await untilToolBegins("killed-0");
  await fleet.start();
  first.kill("SIGKILL");
  await checkTrips(ids);
  await fleet.killAll();
}

async function checkFrozen(): Promise<void> {
  const first = await fleet.start();
  const ids = await startTrips("frozen", 6);
  await untilToolBegins("frozen-0");
  await fleet.start();
  first.kill("SIGSTOP");
  await checkTrips(ids);
  const before = await Promise.all(ids.map(readText));
  first.kill("SIGCONT");
  // Later runs show that both workers still work.
  await checkTrips(await startTrips("thawed", 6));
  deepEqual(await Promise.all(ids.map(readText)), before);
  await fleet.killAll();
}

async function checkCrash(): Promise<void> {
  const tag = `crashed${Math.random()}`;
  await fleet.start();
  const ids = await startTrips(tag, 6);
  await untilToolBegins(`${tag}-0`);
  await fleet.server.crash();
  await checkTrips(ids);
  await fleet.killAll();
}

async function checkFaults(): Promise<void> {
  await client.stop();
  const report = await runFaults({ runs: 12, workers: 3, forMs: 5_000, everyMs: 400, leaseMs: 1_000 }, trips);
  const { completed, read, repeated, gaps, charged, faults } = report;
  const expected = { completed: 12, read: 12, repeated: 0, gaps: 0, charged: safeCallsOf(12) };
  deepEqual({ completed, read, repeated, gaps, charged }, expected);
  ok(faults.kills > 0 && faults.freezes > 0 && faults.crashes > 0, JSON.stringify(faults));
}

export const checks: readonly Check[] = [
  { title: "is finished by another worker after a kill, and no unsafe call begins twice", run: checkKilled },
  { title: "is finished by another worker after a freeze, and the thawed worker changes nothing", run: checkFrozen },
  { title: "is finished after the server was killed, and no event is missing", run: checkCrash },
  {
    title:
      "ends under all faults as it would without them, and a service that ignores repeated idempotency keys counts each call once",
    run: checkFaults,
  },
];
