// Tools for a model that cannot call them.

const assert = require("node:assert/strict");

exports.imports = ["zod"];

exports.exercise = async (load) => {
  const { defineTool, runToolLoop } = await load("turnwright");
  const { planLogs, withPlanner } = await load("turnwright/plan");
  const { createMockProvider, text } = await load("turnwright/testing");
  const add = defineTool({
    name: "add",
    description: "Adds",
    inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
    execute: ({ a, b }) => a + b,
  });
  const command = { purpose: "the sum", tool_name: "add", tool_kwargs: { a: 2, b: 3 } };
  const plan = JSON.stringify({ next_action: "execute", execution_commands: [command] });
  const model = createMockProvider([text(plan), text('{ "next_action": "response" }'), text("5")]);
  const messages = [{ role: "user", content: "What is 2 + 3?" }];
  const result = await runToolLoop({ provider: withPlanner(model), tools: [add], messages });
  assert.equal(result.text, "5");
  assert.deepEqual(
    [...planLogs(result)].map(({ purpose, success, result: sum }) => [purpose, success, sum]),
    [["the sum", true, 5]],
  );
  const planner = () => ({ tool_command: { tool_name: "add", tool_kwargs: { a: 2n } } });
  const broken = await runToolLoop({ provider: withPlanner(model, { planner }), tools: [add], messages });
  assert.match(String(broken.error?.message), /tool_kwargs: must be plain data/);
};
