// The refusals of the entry, which need no database.

const assert = require("node:assert/strict");

exports.imports = ["@dbos-inc/dbos-sdk", "pg"];

exports.exercise = async (load) => {
  const { dbosJournal, defineDurableLoop, launchWorker } = await load("turnwright/dbos");
  assert.throws(() => defineDurableLoop({ name: "" }), { name: "LoopError", code: "invalid-option" });
  await assert.rejects(launchWorker({}), { name: "LoopError", code: "invalid-option" });
  assert.throws(() => dbosJournal(), { name: "LoopError", code: "invalid-option" });
};
