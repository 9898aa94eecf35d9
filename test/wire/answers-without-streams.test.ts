// Servers and gateways that answer with JSON although the request asks for a stream, and gateways that omit the names of events.

import { defineTool, type Provider, runToolLoop } from "turnwright";
import { describe, expect, it, onTestFinished } from "vitest";
import { chat } from "./chat-script.ts";
import { generate } from "./generate-script.ts";
import { messages } from "./messages-script.ts";
import { json, type RawReply, startRawServer } from "./raw-sse-server.ts";
import { responses } from "./responses-script.ts";
import { outputText, user, wholeResponse } from "./service-client.ts";

const look = defineTool({
  name: "look",
  description: "Looks",
  inputSchema: { type: "object", properties: {} },
  execute: () => "seen",
});

const completion = (message: object, finish: string): object => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});
const chatCalls = completion(
  { content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }] },
  "tool_calls",
);
const message = (block: object, reason: string): object => ({
  ...{ id: "msg_1", type: "message", role: "assistant", model: "m", content: [block], stop_reason: reason, stop_sequence: null },
  usage: { input_tokens: 3, output_tokens: 2 },
});
const chunk = (part: object): object => ({
  candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
});
const call = { id: "fc_1", type: "function_call", status: "completed", call_id: "c1", name: "look", arguments: "{}" };
const useBlock = { type: "tool_use", id: "toolu_1", name: "look", input: {} };

async function play(connect: (url: string) => { readonly provider: Provider }, replies: readonly RawReply[]) {
  const server = await startRawServer(replies);
  onTestFinished(() => server.close());
  const result = await runToolLoop({ provider: connect(server.url).provider, tools: [look], messages: [user("Look.")] });
  return { result, bodies: server.bodies };
}

describe.for([
  { ...chat, wholes: [chatCalls, completion({ content: "Seen." }, "stop")] },
  { ...responses, wholes: [wholeResponse(call), wholeResponse(outputText("Seen."))] },
  { ...messages, wholes: [message(useBlock, "tool_use"), message({ type: "text", text: "Seen." }, "end_turn")] },
  { ...generate, wholes: [chunk({ functionCall: { name: "look", args: {} } }), [chunk({ text: "Seen." })]] },
])("provider $name: whole answers to streaming requests", ({ connect, wholes }) => {
  it("are read, with their calls and token counts", async () => {
    const { result } = await play(
      connect,
      wholes.map((whole) => json(200, whole)),
    );
    expect(result).toMatchObject({ status: "completed", text: "Seen.", usage: { inputTokens: 6, outputTokens: 4 } });
    expect(result.calls).toMatchObject([{ outcome: "completed" }]);
  });

  it("are read if a gateway sends them as text/event-stream followed by [DONE]", async () => {
    const headers = { "content-type": "text/event-stream" };
    const replies = wholes.map((whole) => ({ headers, frames: [JSON.stringify(whole), "data: [DONE]\n\n"] }));
    const { result } = await play(connect, replies);
    expect(result).toMatchObject({ status: "completed", text: "Seen.", usage: { inputTokens: 6, outputTokens: 4 } });
  });
});

it("openaiChat reads whole completions that are sent as stream events", async () => {
  const replies = [chatCalls, completion({ content: "Seen." }, "stop")].map((whole) => ({
    frames: [`data: ${JSON.stringify(whole)}\n\n`, "data: [DONE]\n\n"],
  }));
  const { result } = await play(chat.connect, replies);
  expect(result).toMatchObject({ status: "completed", text: "Seen.", usage: { inputTokens: 6, outputTokens: 4 } });
});

it.for<[what: string, change: (frame: string) => string]>([
  ["without names", (frame) => frame.replaceAll(/^event:.*\r?\n/gm, "")],
  ['with the name "message"', (frame) => frame.replaceAll(/^event:.*/gm, "event: message")],
])("anthropicMessages reads events %s, in pieces of any size", async ([, change]) => {
  const frames = (messages.toReply({ text: "Seen.", end: "stop" }).frames ?? []).map(change).join("");
  for (const size of [1, 7, frames.length]) {
    const pieces = frames.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    const { result } = await play(messages.connect, [{ frames: pieces }]);
    expect(result).toMatchObject({ status: "completed", text: "Seen." });
  }
});
