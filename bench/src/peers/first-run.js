// Makes one run with one of the compared libraries in a fresh process. Prints the duration of the run in milliseconds. Imports are
// not included.
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
