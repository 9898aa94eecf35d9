// Subscribes to the diagnostics channels of a run.

const assert = require("node:assert/strict");
const { subscribe, unsubscribe } = require("node:diagnostics_channel");

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { diagnostics, runChannel } = await load("turnwright/diagnostics");
  const { createMockProvider, text } = await load("turnwright/testing");
  const runIds = [];
  const note = ({ runId }) => runIds.push(runId);
  const channel = `tracing:${runChannel}:asyncEnd`;
  subscribe(channel, note);
  const messages = [{ role: "user", content: "Hi." }];
  await runToolLoop({ provider: createMockProvider([text("Hello.")]), messages, middleware: [diagnostics()], runId: "r1" });
  unsubscribe(channel, note);
  assert.deepEqual(runIds, ["r1"]);
};
