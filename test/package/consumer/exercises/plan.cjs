// Tools for a model that cannot call them.

const assert = require("node:assert/strict");

exports.imports = ["zod"];

exports.exercise = async (load) => {
  const { defineTool, runToolLoop } = await load("turnwright");
  const { planLogs, withPlanner } = await load("turnwright/plan");
  const { createMockProvider, text } = await load("turnwright/testing");
  const { z } = await load("zod");
  const add = defineTool({
    name: "add",
    description: "Adds",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
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
};
