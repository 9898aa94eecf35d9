// Limits from environment variables.

const assert = require("node:assert/strict");

exports.imports = ["zod"];

exports.exercise = async (load) => {
  const { readEnvironment } = await load("turnwright/config");
  const { limits, problems } = readEnvironment({ TURNWRIGHT_MAX_ITERATIONS: "20", TURNWRIGHT_TOOL_MS: "30s" });
  assert.equal(limits.maxIterations, 20);
  assert.deepEqual(
    problems.map(({ name, problem }) => [name, problem]),
    [["TURNWRIGHT_TOOL_MS", "not-a-whole-number"]],
  );
};
