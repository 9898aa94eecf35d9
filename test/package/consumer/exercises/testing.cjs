// A suite over its scenario provider, and a test clock.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { createMockProvider, createScenarioProvider, createTestClock, providerSuite, stall } = await load("turnwright/testing");
  const suite = providerSuite({ create: (scenario) => ({ provider: createScenarioProvider(scenario) }) });
  assert.ok(suite.length > 5);
  for (const { run } of suite.slice(0, 5)) await run();

  const clock = createTestClock();
  const running = runToolLoop({ provider: createMockProvider([stall()]), messages: [{ role: "user", content: "Hi." }], clock });
  await clock.runAll();
  assert.equal((await running).reason.kind, "first-chunk");
};
