// Starts Postgres and two workers. Kills one worker in the middle of its runs, and shows that the other worker finishes all runs.
// Start this example with `npx tsx examples/workers/main.ts`.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { launchWorker } from "turnwright/dbos";
import { startPostgres } from "./start-postgres.ts";
import { defineTrips } from "./trips.ts";

const trips = defineTrips();
const postgres = await startPostgres();

async function startWorker(): Promise<ChildProcess> {
  const script = fileURLToPath(new URL("worker.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", script, postgres.url], { stdio: ["ignore", "pipe", "inherit"] });
  if (child.stdout !== null) await once(child.stdout, "data");
  console.log(`Worker ${child.pid} is ready.`);
  return child;
}

// This process can start runs and read their events, but does not execute them.
const client = await launchWorker({ databaseUrl: postgres.url, executes: false });
const workers = [await startWorker(), await startWorker()];

const cities = ["Oslo", "Bergen", "Narvik", "Bodø"];
for (const city of cities) await trips.start(`trip to ${city}`, { city });
console.log(`${cities.length} runs were started.`);

// Any process can read the events of a run.
for await (const { event } of trips.events("trip to Oslo")) if (event.type === "tool-start") break;
const [first, second] = workers;
first?.kill("SIGKILL");
console.log(`Worker ${first?.pid} was killed.`);

for (const city of cities) {
  const { status, text } = await trips.result(`trip to ${city}`);
  console.log(`${status}: ${text}`);
  assert.equal(text, `Your train to ${city} leaves at 09:04.`);
}

second?.kill("SIGKILL");
await client.stop();
await postgres.stop();
