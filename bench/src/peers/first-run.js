// Runs one of the compared libraries for the first time in a fresh process. Prints the duration in milliseconds, without the
// time for imports.
import { callingModel } from "../scripts.js";
import { forecastAtOnce } from "../subjects.js";
import { peers } from "./table.js";

const peer = peers[process.argv[2] ?? ""];
if (peer === undefined) throw new Error(`There is no peer ${process.argv[2]}.`);
const { [peer.export]: peerRun } = await import(peer.file);
const task = peerRun({ stream: callingModel(3), execute: forecastAtOnce, iterations: 3 });
const start = performance.now();
await task();
process.stdout.write(String(performance.now() - start));
process.exit(0);
