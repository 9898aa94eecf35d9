// The long form of `faults.test.ts`: 100 runs, a minute of faults, and the times of takeovers. Run it with `npm run test:faults`.

import assert from "node:assert/strict";
import { runFaults } from "./run-faults.ts";

const report = await runFaults({ runs: 100, workers: 3, forMs: 60_000, everyMs: 700, leaseMs: 2_000 });
console.log(report);
const { completed, read, repeated, gaps } = report;
assert.deepEqual({ completed, read, repeated, gaps }, { completed: 100, read: 100, repeated: 0, gaps: 0 });
