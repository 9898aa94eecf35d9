// A search among deferred tools.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { withToolSearch } = await load("turnwright/tool-search");
  const inputSchema = { type: "object" };
  const look = { name: "look_up", description: "Looks something up", inputSchema, execute: () => 1 };
  const tools = withToolSearch([look], { defer: true });
  assert.deepEqual(
    tools.definitions().map(({ name }) => name),
    ["look_up", "find_tools"],
  );
  const found = await tools.executeTool("find_tools", { query: "look something up" }, {});
  assert.deepEqual(found.data, { tools: [{ name: "look_up", description: "Looks something up" }] });
};
