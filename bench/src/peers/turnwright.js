// Runs the scripted benchmark with turnwright, in the same way as with other libraries.
import { turnwrightRun } from "../subjects.js";

/** @type {import("./script.js").Peer} */
export const run = ({ stream, execute, iterations }) =>
  turnwrightRun(stream, execute, { limits: { maxIterations: iterations, toolConcurrency: 64 } });
