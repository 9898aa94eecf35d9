// A worker in a separate process. Arguments: the URLs of the ingress, the admin API and the balancer, its port, the path for
// notes.

import { defineDurableLoop, launchWorker } from "turnwright/restate";
import { tripsOf } from "../dbos/trips.ts";

const [ingressUrl = "", adminUrl = "", url = "", port = "", notesPath = ""] = process.argv.slice(2);
defineDurableLoop(tripsOf(notesPath));
await launchWorker({ ingressUrl, adminUrl, url, port: Number(port), suspendMs: 300 });
console.log("ready");
