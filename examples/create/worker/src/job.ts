// Sends a job to the workers, and shows its run: npm run job -- "a topic"

import { launchWorker } from "turnwright/dbos";
import { openDatabase } from "./database.ts";
import { sendAndFollow } from "./follow.ts";
import { chooseModel } from "./model.ts";
import { defineReports } from "./report-loop.ts";
import { script } from "./script.ts";

const reports = defineReports(await chooseModel(script));
const database = await openDatabase();
if (database.isOwn) console.log("No worker runs here. Start one with `npm start` in another terminal.");
const client = await launchWorker({ databaseUrl: database.url, runsLoops: false });
await sendAndFollow(reports, `report-${Date.now()}`, { topic: process.argv.slice(2).join(" ") || "coffee" });
await client.stop();
process.exit(0);
