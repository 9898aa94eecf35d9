// A gateway answers with JSON although the request asks for a stream. The AI SDK packages find no events in it.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { simulateStreamingMiddleware, wrapLanguageModel } from "ai";
import { runToolLoop } from "turnwright";
import { aiSdkModel, type AiSdkLanguageModel } from "turnwright/ai-sdk";
import { describe, expect, it } from "vitest";
import { outputText, user, wholeResponse } from "./service-client.ts";

type Fetch = typeof globalThis.fetch;

interface Row {
  readonly connect: (fetch: Fetch) => AiSdkLanguageModel;
  readonly body: object;
}

const completion = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Done." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};
const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: "Done." }],
  stop_reason: "end_turn",
  usage: { input_tokens: 3, output_tokens: 2 },
};
const generated = {
  candidates: [{ content: { role: "model", parts: [{ text: "Done." }] }, finishReason: "STOP", index: 0 }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
};

const rows: { readonly [title: string]: Row } = {
  "@ai-sdk/openai, Chat Completions": {
    connect: (fetch) => createOpenAI({ apiKey: "k", fetch }).chat("m"),
    body: completion,
  },
  "@ai-sdk/openai, Responses": {
    connect: (fetch) => createOpenAI({ apiKey: "k", fetch }).responses("m"),
    body: wholeResponse(outputText("Done.")),
  },
  "@ai-sdk/openai-compatible": {
    connect: (fetch) => createOpenAICompatible({ name: "x", apiKey: "k", baseURL: "http://localhost/v1", fetch })("m"),
    body: completion,
  },
  "@ai-sdk/anthropic": {
    connect: (fetch) => createAnthropic({ apiKey: "k", fetch })("claude-haiku-4-5"),
    body: message,
  },
  "@ai-sdk/google": { connect: (fetch) => createGoogle({ apiKey: "k", fetch })("gemini-3-pro-preview"), body: generated },
};

describe.each(Object.entries(rows))("aiSdkModel with %s: a whole answer instead of a stream", (_title, { connect, body }) => {
  const fetch: Fetch = async () => Response.json(body);

  it("ends the run with an error that says what was received and what to do", async () => {
    const result = await runToolLoop({ provider: aiSdkModel({ model: connect(fetch) }), messages: [user("Hi")] });
    expect(result).toMatchObject({ status: "error", error: { code: "server", retryable: false } });
    expect(result.error?.message).toMatch(
      /^The service sent application\/json.* instead of a stream\. .*simulateStreamingMiddleware/,
    );
  });

  it("is read if the model is wrapped as the error says", async () => {
    const model = wrapLanguageModel({ model: connect(fetch) as never, middleware: simulateStreamingMiddleware() });
    const result = await runToolLoop({ provider: aiSdkModel({ model }), messages: [user("Hi")] });
    expect(result).toMatchObject({ status: "completed", text: "Done." });
  });
});
