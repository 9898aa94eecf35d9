// The Messages API, through the client of Anthropic.

const assert = require("node:assert/strict");

exports.beside = ["@anthropic-ai/sdk"];

const events = [
  { type: "message_start", message: { content: [], stop_reason: null, usage: { input_tokens: 3, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
  { type: "message_stop" },
];

async function answer() {
  const frames = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  return new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });
}

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { anthropicMessages } = await load("turnwright/anthropic");
  const { Anthropic } = await load("@anthropic-ai/sdk");
  const client = new Anthropic({ apiKey: "not-a-key", fetch: answer });
  const provider = anthropicMessages({ client, model: "claude-sonnet-4-6" });
  const { status, text, usage } = await runToolLoop({ provider, messages: [{ role: "user", content: "Hi." }] });
  assert.deepEqual([status, text, usage.inputTokens, usage.outputTokens], ["completed", "Hello", 3, 2]);
};
