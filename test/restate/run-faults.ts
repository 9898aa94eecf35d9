// Runs trips while workers are killed and frozen and the Restate server crashes, and reports how the runs ended.

import { launchWorker } from "turnwright/restate";
import { type FaultPlan, type FaultReport, type Faults, followAll, sleep, type Trips } from "../dbos/run-faults.ts";
import { readNotes } from "../dbos/trips.ts";
import { Fleet } from "./fleet.ts";

/** Counts the safe calls: four calls of `look` in each trip, and one call of `book` in each third trip. */
export function safeCallsOf(runs: number): number {
  return 4 * runs + Math.ceil(runs / 3);
}

export interface RestateFaultReport extends FaultReport {
  /** How many calls of tools with `replay: "safe"` ended and then ran again. Restate had not stored their results. */
  readonly endedTwice: number;
  readonly ended: number;
  /** How many calls of tools with `replay: "safe"` a payment service counted. It ignores repeated idempotency keys. */
  readonly charged: number;
}

/** Kills and freezes workers in turn. Also crashes the server, sometimes directly after a worker was killed. */
async function disturb(plan: FaultPlan, fleet: Fleet): Promise<Faults> {
  const faults = { kills: 0, freezes: 0, crashes: 0 };
  const until = performance.now() + plan.forMs;
  for (let round = 0; round < 4 || performance.now() < until; round += 1) {
    await sleep(plan.everyMs);
    const victim = fleet.workers[round % plan.workers];
    if (plan.isServerOnly === true) {
      faults.crashes += 1;
      await fleet.server.crash();
    } else if (round % 4 === 1) {
      faults.freezes += 1;
      victim?.kill("SIGSTOP");
      await sleep(2 * plan.leaseMs);
      victim?.kill("SIGCONT");
    } else if (round % 4 === 3) {
      faults.crashes += 1;
      await fleet.server.crash();
    } else {
      faults.kills += 1;
      victim?.kill("SIGKILL");
      if (round % 8 === 2) {
        faults.crashes += 1;
        await fleet.server.crash();
      }
      await fleet.start();
    }
  }
  return faults;
}

/** `trips` is passed in, because a process can define the loop only once. */
export async function runFaults(plan: FaultPlan, trips: Trips): Promise<RestateFaultReport> {
  const fleet = await Fleet.begin(plan.leaseMs);
  const { ingressUrl, adminUrl } = fleet.server;
  const client = await launchWorker({ ingressUrl, adminUrl, executes: false });
  try {
    await Promise.all(Array.from({ length: plan.workers }, () => fleet.start()));
    const report = await followAll(plan, trips, () => disturb(plan, fleet));
    const notes = readNotes(fleet.notesPath);
    const begun = notes.filter(({ what, tool }) => what === "begin" && tool === "pay").map(({ key }) => key);
    const ended = notes.filter(({ what }) => what === "end").map(({ key }) => key);
    const endedTwice = ended.length - new Set(ended).size;
    const safe = notes.filter(({ what, tool }) => what === "end" && tool !== "pay").map(({ key }) => key);
    const repeated = begun.length - new Set(begun).size;
    return { ...report, repeated, endedTwice, ended: ended.length, charged: new Set(safe).size };
  } finally {
    await client.stop();
    await fleet.stop();
  }
}
