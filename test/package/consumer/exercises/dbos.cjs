// The refusals of the entry, which need no database.

const assert = require("node:assert/strict");

exports.imports = ["@dbos-inc/dbos-sdk", "pg"];

exports.exercise = async (load) => {
  const { defineDurableLoop, launchWorker, runInWorkflow } = await load("turnwright/dbos");
  assert.throws(() => defineDurableLoop({ name: "" }), { name: "LoopError", code: "invalid-option" });
  await assert.rejects(launchWorker({}), { name: "LoopError", code: "invalid-option" });
  await assert.rejects(runInWorkflow(), { name: "LoopError", code: "invalid-option" });
};
