// The long form of `faults.test.ts`. Measures how long takeovers take, and then runs 100 trips during a minute of faults. Run it with
// `npm run test:faults`.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launchWorker } from "turnwright/dbos";
import { startPostgres } from "../../examples/workers/start-postgres.ts";
import { Fleet } from "./fleet.ts";
import { runFaults } from "./run-faults.ts";
import { defineTrips, measureTakeover } from "./trips.ts";

/** The seed of the faults is the first argument, or else random. */
const seed = Number(process.argv[2] ?? Math.floor(Math.random() * 2 ** 32));
const leaseMs = 2_000;
const folder = mkdtempSync(join(tmpdir(), "turnwright-takeovers-"));
const notesPath = join(folder, "notes.jsonl");
writeFileSync(notesPath, "");
const trips = defineTrips(notesPath);

/** The takeover is between two new workers. */
async function measure(id: string, signal: "SIGKILL" | "SIGSTOP", fleet: Fleet): Promise<number> {
  await Promise.all([fleet.start(), fleet.start()]);
  const tookMs = await measureTakeover(trips, { id, signal, notesPath });
  await fleet.stop();
  return tookMs;
}

const postgres = await startPostgres();
const client = await launchWorker({ databaseUrl: postgres.url, leaseMs, runsLoops: false });
const fleet = new Fleet({ databaseUrl: postgres.url, notesPath, leaseMs });
const kills: number[] = [];
const freezes: number[] = [];
for (let round = 0; round < 5; round += 1) {
  kills.push(await measure(`kill-${round}`, "SIGKILL", fleet));
  freezes.push(await measure(`freeze-${round}`, "SIGSTOP", fleet));
}
await client.stop();
await postgres.stop();
rmSync(folder, { recursive: true });
const secondsOf = (times: readonly number[]): string => times.map((ms) => (ms / 1_000).toFixed(1)).join(", ");
console.log(`Takeover after a kill, in seconds: ${secondsOf(kills)}`);
console.log(`Takeover after a freeze with a lease of ${leaseMs / 1_000} s, in seconds: ${secondsOf(freezes)}`);

console.log(`The faults have the seed ${seed}. To repeat them: npx tsx --no-deprecation test/dbos/test-faults.ts ${seed}`);
try {
  const report = await runFaults({ runs: 100, workers: 3, forMs: 60_000, everyMs: 700, leaseMs, seed }, trips);
  console.log(report);
  const { faults: _, tookMs: __, ...rest } = report;
  assert.deepEqual(rest, { completed: 100, read: 100, repeated: 0, gaps: 0, missteered: 0, unended: 0 });
} catch (error) {
  throw new Error(`The faults with the seed ${seed} broke a run.`, { cause: error });
}
assert.ok(Math.max(...kills) < 3_000 && Math.max(...freezes) < leaseMs + 3_000);
