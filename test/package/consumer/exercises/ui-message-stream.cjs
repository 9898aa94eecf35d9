// A run as the answer to a request of `useChat`, and what the request may say.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { isRequestError, readUIChatRequest, toUIMessageStreamResponse } = await load("turnwright/ui-message-stream");
  const { streamToolLoop } = await load("turnwright");
  const { createMockProvider, text } = await load("turnwright/testing");
  const body = { id: "chat", messages: [{ id: "u", role: "user", parts: [{ type: "text", text: "Hello" }] }] };
  const { message } = await readUIChatRequest(JSON.stringify(body));
  assert.deepEqual(message, { role: "user", id: "u", content: "Hello" });
  const run = streamToolLoop({ provider: createMockProvider([text("Hi.")]), messages: [message] });
  const response = toUIMessageStreamResponse(run, { version: 7 });
  const sent = await response.text();
  assert.match(sent, /"delta":"Hi\."/);
  assert.ok(sent.endsWith("data: [DONE]\n\n"));
  const error = await readUIChatRequest("{").catch((reason) => reason);
  assert.ok(isRequestError(error));
  assert.equal(error.status, 400);
};
