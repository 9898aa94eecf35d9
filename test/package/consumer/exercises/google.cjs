// The Gemini API, through the client of Google.

const assert = require("node:assert/strict");

exports.beside = ["@google/genai"];

const events = [
  { candidates: [{ content: { role: "model", parts: [{ text: "Hello" }] }, index: 0 }] },
  { candidates: [{ finishReason: "STOP", index: 0 }], usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 } },
];

async function answer() {
  const frames = events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`);
  return new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });
}

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { googleGenerateContent } = await load("turnwright/google");
  const { GoogleGenAI } = await load("@google/genai");
  const client = new GoogleGenAI({ apiKey: "not-a-key", httpOptions: { fetch: answer } });
  const provider = googleGenerateContent({ client, model: "gemini-3-pro-preview" });
  const { status, text } = await runToolLoop({ provider, messages: [{ role: "user", content: "Hi." }] });
  assert.deepEqual([status, text], ["completed", "Hello"]);
};
