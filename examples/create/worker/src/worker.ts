// A worker: executes jobs, and takes over the jobs of workers that died. Start as many as you like.

import { launchWorker } from "turnwright/dbos";
import { openDatabase } from "./database.ts";
import { sendAndFollow } from "./follow.ts";
import { chooseModel } from "./model.ts";
import { defineReports } from "./report-loop.ts";
import { script } from "./script.ts";

const reports = defineReports(await chooseModel(script)); // before the launch, so that the worker knows the loop
const database = await openDatabase();
const worker = await launchWorker({ databaseUrl: database.url });
console.log(`Worker ${process.pid} waits for jobs. Send one with: npm run job -- "a topic". Ctrl+C ends the worker.`);

for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.once(name, () => void worker.stop().finally(() => process.exit(0)));
}
// The worker that started the server of this project sends a first job.
if (database.isOwn) await sendAndFollow(reports, `report-${Date.now()}`, { topic: "tea" });
