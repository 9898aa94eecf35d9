// Runs that continue histories of the OpenAI SDK, the Anthropic SDK and the AI SDK. The SDK clients are real, but their `fetch`
// only records the request.

import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { type UIMessage, validateUIMessages } from "ai-v7";
import OpenAI from "openai";
import { type Provider, runToolLoop } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { anthropicMessages, fromAnthropicMessages, toAnthropicMessages } from "turnwright/anthropic";
import { fromOpenAIMessages, openaiChat, openaiResponses, toOpenAIMessages } from "turnwright/openai";
import { fromUIMessages, toUIMessages } from "turnwright/ui-message-stream";
import { createModel, say } from "./ai-sdk-model.ts";

const bodies: { readonly [field: string]: unknown }[] = [];
const apiKey = "not-a-key";
const maxRetries = 0;

async function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  bodies.push(JSON.parse(await new Request(input, init).text()) as { readonly [field: string]: unknown });
  return Response.json({ error: { message: "No network." } }, { status: 400 });
}

/** `fetch` records the request and refuses it. */
async function ask(provider: Provider, { messages, system }: ReturnType<typeof fromOpenAIMessages>): Promise<void> {
  await runToolLoop({ provider, system, messages: [...messages, { role: "user", content: "And Lima?" }] });
}

const question = { role: "user" as const, content: "And Lima?" };

globalThis.fetch = fetch;
process.env["OPENAI_API_KEY"] = apiKey;

// #region chat
const chatHistory: OpenAI.ChatCompletionMessageParam[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Weather in Oslo?" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "call_1", type: "function", function: { name: "get_weather", arguments: '{ "city": "Oslo" }' } }],
  },
  { role: "tool", tool_call_id: "call_1", content: '{"degrees":7}' },
  { role: "assistant", content: "7 degrees." },
];

const provider = openaiChat({ client: new OpenAI({ maxRetries: 0 }), model: "gpt-5" });
const { messages, system, lost } = fromOpenAIMessages(chatHistory, { provider });
assert.deepEqual(lost, []); // nothing is lost, so the next request begins with exactly this history
await runToolLoop({ provider, system, messages: [...messages, { role: "user", content: "And Lima?" }] });
// #endregion chat
assert.deepEqual(bodies.pop()?.messages, [...chatHistory, question]);
assert.deepEqual(toOpenAIMessages(messages, { system, provider }).messages, chatHistory);

const items: OpenAI.Responses.ResponseInputItem[] = [
  { role: "user", content: "Weather in Oslo?" },
  { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "encrypted" },
  {
    type: "function_call",
    id: "fc_1",
    call_id: "call_1",
    name: "get_weather",
    arguments: '{"city":"Oslo"}',
    status: "completed",
  },
  { type: "function_call_output", call_id: "call_1", output: '{"degrees":7}' },
  { role: "assistant", content: "7 degrees." },
];
const responses = openaiResponses({ client: new OpenAI({ apiKey, fetch, maxRetries }), model: "gpt-5" });
const fromItems = fromOpenAIMessages(items, { provider: responses });
await ask(responses, fromItems);
// The service also accepts items without ids and states. If items have ids, the service looks for stored items.
const sent = items.map((item) => Object.fromEntries(Object.entries(item).filter(([name]) => name !== "id" && name !== "status")));
assert.deepEqual([fromItems.lost, bodies.pop()?.input], [[], [...sent, question]]);
const { messages: back } = toOpenAIMessages<OpenAI.Responses.ResponseInputItem>(fromItems.messages, {
  api: "responses",
  provider: responses,
});
assert.deepEqual(back, sent);

const wireHistory: Anthropic.MessageParam[] = [
  { role: "user", content: [{ type: "text", text: "Weather in Oslo?" }] },
  {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "The tool knows.", signature: "signed" },
      { type: "tool_use", id: "toolu_1", name: "get_weather", input: { city: "Oslo" } },
    ],
  },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "7 degrees", is_error: true }] },
  { role: "assistant", content: [{ type: "text", text: "The tool failed." }] },
];
const claude = anthropicMessages({ client: new Anthropic({ apiKey, fetch, maxRetries }), model: "claude-opus-4-6" });
const fromWire = fromAnthropicMessages(wireHistory, { system: "Be brief.", provider: claude });
await ask(claude, fromWire);
const asked: Anthropic.MessageParam = { role: "user", content: [{ type: "text", text: question.content }] };
assert.deepEqual(bodies.pop()?.messages, [...wireHistory, asked]);
assert.deepEqual(
  toAnthropicMessages(fromWire.messages, { provider: claude }).messages satisfies Anthropic.MessageParam[],
  wireHistory,
);

const chat: UIMessage[] = [
  { id: "m1", role: "user", parts: [{ type: "text", text: "Weather in Oslo?" }] },
  {
    id: "m2",
    role: "assistant",
    parts: [
      { type: "step-start" },
      { type: "reasoning", text: "The tool knows.", providerMetadata: { anthropic: { signature: "signed" } } },
      { type: "tool-get_weather", toolCallId: "c1", state: "output-available", input: { city: "Oslo" }, output: { degrees: 7 } },
      { type: "step-start" },
      { type: "text", text: "7 degrees." },
    ],
  },
];
const model = createModel([[say("20 degrees.")]]);
const kept = aiSdkModel({ model });
const fromChat = fromUIMessages(chat, { provider: kept });
await ask(kept, fromChat);
assert.deepEqual(fromChat.lost, []);
const prompt = JSON.stringify(model.doStreamCalls[0]?.prompt);
assert.ok(prompt.includes('"providerOptions":{"anthropic":{"signature":"signed"}}'));

// #region elsewhere
// You can convert each format to any other one. `lost` lists the content that the target cannot hold.
const elsewhere = toOpenAIMessages(fromWire.messages, { system: fromWire.system });
console.log(elsewhere.lost);
// [
//   { index: 1, field: "content[0]", reason: "omitted" },         the reasoning
//   { index: 1, field: "providerMetadata", reason: "omitted" },   the signature
//   { index: 2, field: "results[0].outcome", reason: "changed" }, Chat has no failed results
// ]
// #endregion elsewhere
assert.deepEqual(
  elsewhere.lost.map(({ index, field, reason }) => `${index} ${field} ${reason}`),
  ["1 content[0] omitted", "1 providerMetadata omitted", "2 results[0].outcome changed"],
);
await validateUIMessages({ messages: JSON.parse(JSON.stringify(toUIMessages(fromWire.messages, { version: 7 }).messages)) });
console.log("histories: runs continue histories of four formats.");
