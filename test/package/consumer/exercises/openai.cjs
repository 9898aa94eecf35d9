// Both APIs of OpenAI, through its own client.

const assert = require("node:assert/strict");

exports.beside = ["openai"];

const chat = [
  { choices: [{ index: 0, delta: { role: "assistant", content: "Hel" }, finish_reason: null }] },
  { choices: [{ index: 0, delta: { content: "lo" }, finish_reason: "stop" }] },
];
const output = [{ type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Hello" }] }];
const responses = [{ type: "response.completed", response: { status: "completed", output } }];

async function answer(url) {
  const frames = (String(url).endsWith("/responses") ? responses : chat).map((event) => `data: ${JSON.stringify(event)}\n\n`);
  return new Response(`${frames.join("")}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
}

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { openaiChat, openaiResponses } = await load("turnwright/openai");
  const { OpenAI } = await load("openai");
  const client = new OpenAI({ apiKey: "not-a-key", fetch: answer });
  for (const adapter of [openaiChat, openaiResponses]) {
    const provider = adapter({ client, model: "gpt-5" });
    const { status, text } = await runToolLoop({ provider, messages: [{ role: "user", content: "Hi." }] });
    assert.deepEqual([status, text], ["completed", "Hello"]);
  }
};
