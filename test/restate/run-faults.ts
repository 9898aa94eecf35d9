// Runs trips while workers are killed and frozen and the Restate server crashes, and reports how the runs ended.

import { launchWorker } from "turnwright/restate";
import {
  createWorkerFaults,
  disturb,
  type Fault,
  type FaultPlan,
  type FaultReport,
  followAll,
  type Trips,
  type WorkerFaults,
} from "../dbos/run-faults.ts";
import { readNotes } from "../dbos/trips.ts";
import { Fleet } from "./fleet.ts";

/**
 * Counts the safe calls: four calls of `look` in each trip, including those that wait, because a waiting call holds back no other
 * call. One call of `book` in each third trip.
 */
export function safeCallsOf(runs: number): number {
  return 4 * runs + Math.ceil(runs / 3) + 4 * Math.ceil(runs / 6);
}

export interface RestateFaultReport extends FaultReport {
  /** How many calls of tools with `replay: "safe"` ended and then ran again. Restate had not stored their results. */
  readonly endedTwice: number;
  readonly ended: number;
  /** How many calls of tools with `replay: "safe"` a payment service counted. It ignores repeated idempotency keys. */
  readonly charged: number;
}

function createCrash(fleet: Fleet, { counts, kill }: WorkerFaults): Fault {
  let crashing: Promise<void> | undefined;
  return async (random) => {
    counts.crashes += 1;
    const killed = random() < 0.5 ? kill(random) : undefined;
    await (crashing ??= fleet.server.crash().finally(() => (crashing = undefined)));
    await killed;
  };
}

/** `trips` is passed in, because a process can define the loop only once. */
export async function runFaults(plan: FaultPlan, trips: Trips): Promise<RestateFaultReport> {
  const fleet = await Fleet.begin(plan.leaseMs);
  const { ingressUrl, adminUrl } = fleet.server;
  const client = await launchWorker({ ingressUrl, adminUrl, runsLoops: false });
  try {
    await Promise.all(Array.from({ length: plan.workers }, () => fleet.start()));
    const ofWorkers = createWorkerFaults(plan, fleet);
    const { kill, freeze, freezeStorm, counts } = ofWorkers;
    const crash = createCrash(fleet, ofWorkers);
    const onlyCrashes: Fault = async () => {
      counts.crashes += 1;
      await fleet.server.crash();
    };
    const kinds = plan.isServerOnly === true ? [onlyCrashes] : [kill, kill, freeze, crash, freezeStorm];
    const report = await followAll(plan, trips, () => disturb(plan, kinds));
    const notes = readNotes(fleet.notesPath);
    const begun = notes.filter(({ what, tool }) => what === "begin" && tool === "pay").map(({ key }) => key);
    const ended = notes.filter(({ what }) => what === "end").map(({ key }) => key);
    const endedTwice = ended.length - new Set(ended).size;
    const safe = notes.filter(({ what, tool }) => what === "end" && tool !== "pay").map(({ key }) => key);
    const repeated = begun.length - new Set(begun).size;
    return { ...report, faults: counts, repeated, endedTwice, ended: ended.length, charged: new Set(safe).size };
  } finally {
    await client.stop();
    await fleet.stop();
  }
}
