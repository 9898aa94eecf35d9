// The checks of durable loops with several workers: takeovers, and a short form of the faults.

import { deepEqual, ok } from "node:assert/strict";
import { defineDurableLoop, launchWorker, type Worker } from "turnwright/restate";
import type { Trips } from "../dbos/run-faults.ts";
import { checkTrips, readText, startTrips, tripsOf, untilToolBegins } from "../dbos/trips.ts";
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

async function checkKilled(): Promise<void> {
  const first = await fleet.start();
  const ids = await startTrips(trips, "killed", 6);
  await untilToolBegins(trips, "killed-0");
  await fleet.start();
  first.kill("SIGKILL");
  await checkTrips(trips, ids, fleet.notesPath);
  await fleet.killAll();
}

async function checkFrozen(): Promise<void> {
  const first = await fleet.start();
  const ids = await startTrips(trips, "frozen", 6);
  await untilToolBegins(trips, "frozen-0");
  await fleet.start();
  first.kill("SIGSTOP");
  await checkTrips(trips, ids, fleet.notesPath);
  const before = await Promise.all(ids.map((id) => readText(trips, id)));
  first.kill("SIGCONT");
  // More trips show that both workers still work.
  await checkTrips(trips, await startTrips(trips, "thawed", 6), fleet.notesPath);
  deepEqual(await Promise.all(ids.map((id) => readText(trips, id))), before);
  await fleet.killAll();
}

async function checkCrash(): Promise<void> {
  const tag = `crashed${Math.random()}`;
  await fleet.start();
  const ids = await startTrips(trips, tag, 6);
  await untilToolBegins(trips, `${tag}-0`);
  await fleet.server.crash();
  await checkTrips(trips, ids, fleet.notesPath);
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
  { title: "is finished by another worker after its first worker was killed", run: checkKilled },
  { title: "is finished by another worker after its first worker was frozen", run: checkFrozen },
  { title: "is finished after the server was killed, without a missing event", run: checkCrash },
  {
    title: "completes despite kills, freezes and crashes",
    run: checkFaults,
  },
];
