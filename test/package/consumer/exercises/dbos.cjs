// The journal of a DBOS workflow, which needs a workflow.

const assert = require("node:assert/strict");

exports.imports = ["@dbos-inc/dbos-sdk"];

exports.exercise = async (load) => {
  const { dbosJournal } = await load("turnwright/dbos");
  assert.throws(() => dbosJournal(), { name: "LoopError", code: "invalid-option" });
};
