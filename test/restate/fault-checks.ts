// The check of durable loops with several workers: a short form of the faults.

import { deepEqual, ok } from "node:assert/strict";
import { defineDurableLoop } from "turnwright/restate";
import type { Trips } from "../dbos/run-faults.ts";
import { tripsOf } from "../dbos/trips.ts";
import type { Check } from "./checks.ts";
import { runFaults, safeCallsOf } from "./run-faults.ts";

let trips: Trips;

export async function begin(): Promise<void> {
  trips = defineDurableLoop(tripsOf(""));
}

export async function end(): Promise<void> {}

async function checkFaults(): Promise<void> {
  const plan = { runs: 6, workers: 2, forMs: 0, everyMs: 300, leaseMs: 700, seed: 1, overlaps: true };
  const { faults, tookMs: _, ended: __, endedTwice: ___, ...rest } = await runFaults(plan, trips);
  const none = { repeated: 0, gaps: 0, missteered: 0, unended: 0 };
  deepEqual(rest, { completed: 6, read: 6, ...none, charged: safeCallsOf(6) });
  ok(faults.kills > 0 && faults.freezes > 0 && faults.crashes > 0, JSON.stringify(faults));
}

export const checks: readonly Check[] = [{ title: "completes despite kills, freezes and crashes", run: checkFaults }];
