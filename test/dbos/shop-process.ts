// A worker that executes the runs of the shop. Argument: the URL of the database.

import { launchWorker } from "turnwright/dbos";
import { defineKeeping, defineShop } from "./shop.ts";

const [databaseUrl = ""] = process.argv.slice(2);
defineShop();
defineKeeping();
await launchWorker({ databaseUrl });
console.log("ready");
