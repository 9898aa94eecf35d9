// A gate that opens a tool because of the user's words.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { createDeliberateMode } = await load("turnwright/deliberate");
  const mode = createDeliberateMode({ triggers: { look: "look it up" } });
  assert.deepEqual(mode.problems, []);
  assert.deepEqual([...mode.forTurn({ text: "Please look it up." }).allowedNames], ["look"]);
  assert.deepEqual([...mode.forTurn({ text: "Hello." }).allowedNames], []);
};
