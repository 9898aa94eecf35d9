// A worker process. Its argument is the database URL.

import { launchWorker } from "turnwright/dbos";
import { defineTrips } from "./trips.ts";

const [databaseUrl = ""] = process.argv.slice(2);
defineTrips();
await launchWorker({ databaseUrl });
console.log("ready");
