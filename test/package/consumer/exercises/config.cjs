// Limits out of environment variables.

const assert = require("node:assert/strict");

exports.imports = ["zod"];

exports.exercise = async (load) => {
  const { readEnvironment } = await load("turnwright/config");
  const { limits, problems } = readEnvironment({ BOT_MAX_FUNCTION_CALL_ITERATIONS: "20", TOOL_EXECUTION_TIMEOUT_MS: "30s" });
  assert.equal(limits.maxIterations, 20);
  assert.deepEqual(
    problems.map(({ name, problem }) => [name, problem]),
    [["TOOL_EXECUTION_TIMEOUT_MS", "not-a-whole-number"]],
  );
};
