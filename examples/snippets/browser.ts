// Runs the loop in a page, with a model that the page reaches through its own server. `fetch` is replaced, so no key is needed.

import assert from "node:assert/strict";
import OpenAI from "openai";
import { defineTool, runToolLoop } from "turnwright";
import { openaiChat } from "turnwright/openai";

const origin = "https://app.example";
const key = "sk-of-the-server";
process.env["OPENAI_API_KEY"] = key;
const tools = [
  defineTool({ name: "title", description: "Title of the page", inputSchema: { type: "object" }, execute: () => "Tides" }),
];
const sent: Request[] = [];
const isSignedIn = (request: Request): boolean => request.headers.get("cookie") !== "";

const chunk = (delta: object, finish?: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish ?? null }] })}\n\n`;
const whole = globalThis.fetch;
globalThis.fetch = async (input, init) => {
  const request = new Request(input, init);
  if (request.url.startsWith(origin)) return proxy(request);
  sent.push(request);
  const answer = `${chunk({ content: "It is about tides." })}${chunk({}, "stop")}data: [DONE]\n\n`;
  return new Response(answer, { headers: { "content-type": "text/event-stream" } });
};

// #region server
/** POST /api/model/chat/completions */
async function proxy(request: Request): Promise<Response> {
  if (!isSignedIn(request)) return new Response("Sign in first.", { status: 401 });
  const body = { ...(await request.json()), model: "gpt-5-mini", max_completion_tokens: 4_000 }; // the page does not choose these
  return fetch("https://api.openai.com/v1/chat/completions", {
    method: "POST",
    headers: { authorization: `Bearer ${process.env["OPENAI_API_KEY"]}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: request.signal, // stops the model if the page is closed
  });
}
// #endregion server

// #region page
const client = new OpenAI({ baseURL: `${origin}/api/model`, apiKey: "none", dangerouslyAllowBrowser: true }); // `location.origin`
const provider = openaiChat({ client, model: "gpt-5-mini", id: "openai" });
const result = await runToolLoop({ provider, tools, messages: [{ role: "user", content: "What is this page about?" }] });
// #endregion page
assert.equal(result.text, "It is about tides.");
assert.equal(sent[0]?.headers.get("authorization"), `Bearer ${key}`);
globalThis.fetch = whole;
