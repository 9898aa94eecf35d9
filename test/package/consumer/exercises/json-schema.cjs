// JSON Schema that is checked.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { defineTool } = await load("turnwright");
  const { fromJsonSchema, withValidation } = await load("turnwright/json-schema");
  const { runTool } = await load("turnwright/testing");
  const inputSchema = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };
  const double = { name: "double", description: "Doubles", execute: ({ a }) => 2 * a };
  const checked = defineTool({ ...double, inputSchema: fromJsonSchema(inputSchema) });
  assert.equal((await runTool(checked, { a: 2 })).data, 4);
  assert.equal((await runTool(checked, { a: "2" })).kind, "invalid-input");
  const registry = withValidation([defineTool({ ...double, inputSchema })]);
  assert.deepEqual(registry.validate("double", {}).issues.length, 1);
};
