// Calls what is published as users do, whichever way it was loaded. Some breakage shows only once a tool is called.

const assert = require("node:assert/strict");

/** What the OpenAI SDK gives, without the SDK: one answer in two pieces. */
const client = {
  chat: {
    completions: {
      async create() {
        return (async function* () {
          yield { choices: [{ index: 0, delta: { role: "assistant", content: "Hel" }, finish_reason: null }] };
          yield { choices: [{ index: 0, delta: { content: "lo" }, finish_reason: "stop" }] };
        })();
      },
    },
  },
};

const messages = [{ role: "user", content: "What is 2 + 3?" }];
const inputSchema = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } };

/**
 * @param {typeof import("turnwright")} core
 * @param {typeof import("turnwright/testing")} testing
 * @param {typeof import("turnwright/openai")} openai
 */
exports.exercise = async (
  { defineTool, generateWithTools, isLoopEndedError, isLoopError, runToolLoop, streamToolLoop },
  { createMockProvider, text, toolCall },
  { openaiChat },
) => {
  const add = defineTool({ name: "add", description: "Adds", inputSchema, execute: async ({ a, b }) => a + b });
  const hang = defineTool({
    name: "hang",
    description: "Hangs",
    inputSchema: {},
    timeoutMs: 5,
    execute: () => new Promise(() => {}),
  });
  const script = [[toolCall("add", { a: 2, b: 3 }), toolCall("hang")], text("5")];
  const options = { provider: createMockProvider(script), tools: [add, hang], messages, timeouts: { settleMs: 0 } };

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

  const answered = await runToolLoop({ provider: openaiChat({ client, model: "any" }), messages });
  assert.equal(answered.text, "Hello");

  await assert.rejects(runToolLoop({ ...options, limits: { maxIterations: 0 } }), (error) =>
    isLoopError(error, "invalid-option"),
  );

  const executor = { definitions: [{ name: "add", description: "Adds", inputSchema }], execute: async (_, { a, b }) => a + b };
  const endless = createMockProvider(() => toolCall("add", { a: 2, b: 3 }));
  await assert.rejects(generateWithTools(endless, { messages }, executor, { maxIterations: 1 }), (error) =>
    isLoopEndedError(error, "max-iterations"),
  );
};
