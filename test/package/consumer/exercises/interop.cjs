// Tools that were written for the AI SDK.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { importTool } = await load("turnwright/interop");
  const { mergeRegistries, withFilter, withPrefix } = await load("turnwright");
  const { runTool } = await load("turnwright/testing");
  // The result of the AI SDK's `tool()` for a JSON Schema.
  const foreign = {
    description: "Adds",
    inputSchema: { [Symbol.for("vercel.ai.schema")]: true, jsonSchema: { type: "object" }, validate: undefined },
    execute: async ({ a, b }) => a + b,
  };
  const add = importTool(foreign, { name: "add" });
  const outcome = await runTool(add, { a: 2, b: 3 });
  assert.deepEqual([outcome.kind, outcome.data], ["completed", 5]);
  const merged = mergeRegistries([add], withPrefix([add], "two_"), withFilter([add], []));
  assert.deepEqual(
    merged.definitions().map(({ name }) => name),
    ["add", "two_add"],
  );
};
