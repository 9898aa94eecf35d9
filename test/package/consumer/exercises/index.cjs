// The core, as users call it. Some breakage shows only once a tool is called.

const assert = require("node:assert/strict");

const messages = [{ role: "user", content: "What is 2 + 3?" }];
const inputSchema = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } };

exports.exercise = async (load) => {
  const { defineTool, generateWithTools, isLoopEndedError, isLoopError, runToolLoop, streamToolLoop } = await load("turnwright");
  const { createMockProvider, text, toolCall } = await load("turnwright/testing");
  const add = defineTool({ name: "add", description: "Adds", inputSchema, execute: async ({ a, b }) => a + b });
  const hang = defineTool({
    name: "hang",
    description: "Hangs",
    inputSchema: {},
    timeoutMs: 5,
    execute: () => new Promise(() => {}),
  });
  const script = [[toolCall("add", { a: 2, b: 3 }), toolCall("hang")], text("5")];
  const options = { provider: createMockProvider(script), tools: [add, hang], messages, timeouts: { toolCleanupMs: 0 } };

  const result = await runToolLoop(options);
  assert.equal(result.status, "completed");
  assert.equal(result.text, "5");
  assert.deepEqual(
    result.functionHistory.map(({ outcome }) => outcome),
    ["completed", "timed-out"],
  );

  const types = new Set();
  for await (const { type } of streamToolLoop({ ...options, provider: createMockProvider(script) })) types.add(type);
  assert.ok(types.has("text-delta") && types.has("tool-end") && types.has("run-end"));

  await assert.rejects(runToolLoop({ ...options, limits: { maxIterations: 0 } }), (error) =>
    isLoopError(error, "invalid-option"),
  );

  const executor = { definitions: [{ name: "add", description: "Adds", inputSchema }], execute: async (_, { a, b }) => a + b };
  const endless = createMockProvider(() => toolCall("add", { a: 2, b: 3 }));
  await assert.rejects(generateWithTools(endless, { messages }, executor, { maxIterations: 1 }), (error) =>
    isLoopEndedError(error, "max-iterations"),
  );
};
