// The refusals of the entry, which need no server. Below Node 22, each function says which Node it needs.

const assert = require("node:assert/strict");

exports.imports = ["@restatedev/restate-sdk", "@restatedev/restate-sdk-clients"];

const isOld = Number.parseInt(process.versions.node, 10) < 22;
const refusal = isOld
  ? /^Error: turnwright\/restate needs Node 22 or later\. This is Node v/
  : { name: "LoopError", code: "invalid-option" };

exports.exercise = async (load) => {
  const { defineDurableLoop, launchWorker, runInWorkflow } = await load("turnwright/restate");
  assert.throws(() => defineDurableLoop({ name: "" }), refusal);
  await assert.rejects(launchWorker({}), refusal);
  await assert.rejects(runInWorkflow(), refusal);
};
