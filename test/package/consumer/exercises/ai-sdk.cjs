// A model of the AI SDK, out of one of its provider packages.

const assert = require("node:assert/strict");

exports.beside = ["@ai-sdk/openai"];

const events = [
  { type: "response.created", response: { id: "resp_1", created_at: 1, model: "gpt-5" } },
  { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "msg_1" } },
  { type: "response.output_text.delta", item_id: "msg_1", delta: "Hello" },
  { type: "response.output_item.done", output_index: 0, item: { type: "message", id: "msg_1" } },
  { type: "response.completed", response: { usage: { input_tokens: 3, output_tokens: 2 } } },
];

async function answer() {
  const frames = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
  return new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });
}

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { aiSdkModel } = await load("turnwright/ai-sdk");
  const { createOpenAI } = await load("@ai-sdk/openai");
  const provider = aiSdkModel({ model: createOpenAI({ apiKey: "not-a-key", fetch: answer })("gpt-5") });
  const { status, text } = await runToolLoop({ provider, messages: [{ role: "user", content: "Hi." }] });
  assert.deepEqual([status, text], ["completed", "Hello"]);
};
