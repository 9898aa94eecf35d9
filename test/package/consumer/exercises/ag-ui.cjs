// A run as the answer to a request of an AG-UI client, and what the request may say.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { isRequestError, readAGUIRequest, toAGUIResponse, toAGUIThread } = await load("turnwright/ag-ui");
  const { streamToolLoop } = await load("turnwright");
  const { createMockProvider, text } = await load("turnwright/testing");
  const body = { threadId: "t", runId: "r", messages: [{ id: "u", role: "user", content: "Hello" }] };
  const { threadId, runId, message } = await readAGUIRequest(JSON.stringify(body));
  assert.deepEqual(message, { role: "user", id: "u", content: "Hello" });
  const run = streamToolLoop({ provider: createMockProvider([text("Hi.")]), messages: [message] });
  const sent = await toAGUIResponse(run, { threadId, runId }).text();
  assert.match(sent, /^data: {"type":"RUN_STARTED","threadId":"t","runId":"r"/);
  assert.match(sent, /"delta":"Hi\."/);
  assert.deepEqual(toAGUIThread(undefined).messages, []);
  const error = await readAGUIRequest("{").catch((reason) => reason);
  assert.ok(isRequestError(error));
  assert.equal(error.status, 400);
};
