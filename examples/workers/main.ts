// Starts Postgres, two workers and a page. Kill a worker on the page, and watch the other worker continue its runs. `npm run workers`
// serves the page on http://localhost:8080. Set PORT to use another port. Without `--serve`, the example tests itself.

import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { launchWorker } from "turnwright/dbos";
import { FollowedTrips } from "./followed-trips.ts";
import { startPostgres } from "./start-postgres.ts";
import { defineTrips } from "./trips.ts";
import { createWorkerPage } from "./worker-page.ts";
import { WorkerProcesses } from "./worker-processes.ts";

const isServing = process.argv.includes("--serve");
const loop = defineTrips();
const postgres = await startPostgres();
// This process can start runs and read their events, but does not execute them.
const client = await launchWorker({ databaseUrl: postgres.url, runsLoops: false });
const workers = new WorkerProcesses(postgres.url);
const trips = new FollowedTrips(loop);
await Promise.all([workers.start(), workers.start()]);
const server = createWorkerPage({ workers, trips });
server.listen(isServing ? Number(process.env["PORT"] ?? 8080) : 0, "127.0.0.1");
await once(server, "listening");
const url = `http://localhost:${(server.address() as AddressInfo).port}`;

if (isServing) {
  for (const city of ["Oslo", "Bergen", "Narvik", "Bodø"]) await trips.start({ city, legs: 12, paceMs: 1_000 });
  console.log(`Two workers execute four runs. Open ${url} and kill a worker.`);
  process.once("SIGINT", () => void stop().then(() => process.exit(0)));
} else {
  await check();
  await stop();
}

async function stop(): Promise<void> {
  server.closeAllConnections();
  server.close();
  await workers.stop();
  await client.stop();
  await postgres.stop();
}

/** All trips must end as if no worker had been killed. */
async function check(): Promise<void> {
  assert.match(await (await fetch(url)).text(), /<title>Workers and their runs<\/title>/);
  for (const city of ["Oslo", "Bergen", "Narvik", "Bodø"]) await trips.start({ city, legs: 4, paceMs: 200 });
  while (trips.all[0]?.workers.length === 0) await setTimeout(20);
  const pid = trips.all[0]?.workers[0];
  const killed = await fetch(`${url}/workers/${pid}/kill`, { method: "POST" });
  assert.equal(killed.status, 202);
  console.log("The worker of the first run was killed.");
  while (trips.all.some(({ status }) => status !== "completed")) await setTimeout(50);
  for (const { id, text, workers: pids } of trips.all) {
    assert.match(text, /^Leg 1\. Leg 2\. Leg 3\. Leg 4\. Your train to \S+ leaves at 09:04\.$/);
    console.log(`${id} is completed. Takeovers: ${pids.length - 1}.`);
  }
  assert.equal(trips.all[0]?.workers.length, 2);
}
