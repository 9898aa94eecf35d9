// Limits out of environment variables, bad ones among them.

import assert from "node:assert/strict";
import { runToolLoop } from "turnwright";
import { readEnvironment } from "turnwright/config";
import { createMockProvider, text } from "turnwright/testing";

const provider = createMockProvider([text("Hello.")]);
const messages = [{ role: "user", content: "Hi." }] as const;
const env = { BOT_MAX_FUNCTION_CALL_ITERATIONS: "20", TOOL_EXECUTION_TIMEOUT_MS: "30s", STREAM_SDK_CALL_TIMEOUT_MS: "500" };
const warned: string[] = [];
const warn = (line: string): void => void warned.push(line);

// #region config
const { limits, timeouts, problems } = readEnvironment(env); // default: process.env
for (const { name, problem, used } of problems) warn(`${name} is ${problem}; ${used} is used.`);
const { status } = await runToolLoop({ provider, messages, limits, timeouts });
// "STREAM_SDK_CALL_TIMEOUT_MS is below-minimum; 10000 is used."
// "TOOL_EXECUTION_TIMEOUT_MS is not-a-whole-number; 300000 is used."
// #endregion config

assert.equal(status, "completed");
assert.equal(limits.maxIterations, 20);
assert.deepEqual(warned, [
  "STREAM_SDK_CALL_TIMEOUT_MS is below-minimum; 10000 is used.",
  "TOOL_EXECUTION_TIMEOUT_MS is not-a-whole-number; 300000 is used.",
]);
