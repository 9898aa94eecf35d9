// A worker in a separate process. Arguments: the URL of the database, the path for notes, the lease in milliseconds.

import { launchWorker } from "turnwright/dbos";
import { defineTrips } from "./trips.ts";

const [databaseUrl = "", notesPath = "", leaseMs = "10000"] = process.argv.slice(2);
defineTrips(notesPath);
await launchWorker({ databaseUrl, leaseMs: Number(leaseMs) });
console.log("ready");
