// Reads limits from environment variables, and reports invalid variables.

import assert from "node:assert/strict";
import { runToolLoop } from "turnwright";
import { readEnvironment } from "turnwright/config";
import { createMockProvider, text } from "turnwright/testing";

const provider = createMockProvider([text("Hello.")]);
const messages = [{ role: "user", content: "Hi." }] as const;
Object.assign(process.env, { TURNWRIGHT_MAX_ITERATIONS: "20", TURNWRIGHT_TOOL_MS: "30s", TURNWRIGHT_STREAM_IDLE_MS: "500" });
const warned: string[] = [];
const console = { warn: (line: string): void => void warned.push(line) };

// #region config
const { limits, timeouts, problems } = readEnvironment(); // of process.env; or pass an object
for (const { name, problem, used } of problems) console.warn(`${name} is ${problem}; ${used} is used.`);
const { status } = await runToolLoop({ provider, messages, limits, timeouts });
// "TURNWRIGHT_STREAM_IDLE_MS is below-minimum; 10000 is used."
// "TURNWRIGHT_TOOL_MS is not-a-whole-number; 300000 is used."
// #endregion config

assert.equal(status, "completed");
assert.equal(limits.maxIterations, 20);
assert.deepEqual(warned, [
  "TURNWRIGHT_STREAM_IDLE_MS is below-minimum; 10000 is used.",
  "TURNWRIGHT_TOOL_MS is not-a-whole-number; 300000 is used.",
]);
