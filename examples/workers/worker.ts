// One worker. Its argument is the URL of the database.

import { launchWorker } from "turnwright/dbos";
import { defineTrips } from "./trips.ts";

const [databaseUrl = ""] = process.argv.slice(2);
defineTrips();
await launchWorker({ databaseUrl });
console.log("ready");
