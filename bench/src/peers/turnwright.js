import { turnwrightRun } from "../subjects.js";

/** @type {import("./script.js").Peer} */
export const run = ({ stream, execute, iterations }) =>
  turnwrightRun(stream, execute, { limits: { maxIterations: iterations, toolConcurrency: 64 } });
