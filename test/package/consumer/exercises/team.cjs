// A lead with one task, and the tree of its runs.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { streamToolLoop } = await load("turnwright");
  const { createRunTree, createTeam, renderTree } = await load("turnwright/team");
  const { createMockProvider, text, toolCall } = await load("turnwright/testing");
  const provider = createMockProvider([toolCall("writer", { task: "Write" }), text("Written."), text("Done.")]);
  const team = createTeam({ members: { writer: { description: "Writes", system: "Write." } } });
  const tree = createRunTree({ now: () => 0 });
  for await (const event of streamToolLoop({ provider, messages: [{ role: "user", content: "Go" }], ...team })) tree.add(event);
  assert.deepEqual([tree.runs.length, tree.runs[0].nested[0].name], [1, "writer"]);
  assert.match(renderTree(tree), /✓ writer Write/);
};
