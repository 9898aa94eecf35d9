// A worker in a separate process. Its arguments are the URLs of the ingress, the admin API and the balancer, the port of the
// worker, and the path for notes.

import { defineDurableLoop, launchWorker } from "turnwright/restate";
import { tripsOf } from "../dbos/trips.ts";

const [ingressUrl = "", adminUrl = "", url = "", port = "", notesPath = ""] = process.argv.slice(2);
defineDurableLoop(tripsOf(notesPath));
await launchWorker({ ingressUrl, adminUrl, url, port: Number(port), suspendMs: 300 });
console.log("ready");
