// Some gateways end a stream with an event whose token counts are 0. Some services estimate the input tokens before they count them.

import { expect, it } from "vitest";
import type { Provider, Usage } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat } from "turnwright/openai";
import { ask, runIteration } from "./provider-iteration.ts";

type Event = { readonly [field: string]: unknown };

async function* streamOf(events: readonly Event[]): AsyncGenerator<Event> {
  yield* events;
}

const chat = (...counts: readonly Event[]): Provider => {
  const events = [
    ...counts.map((usage) => ({ choices: [{ index: 0, delta: { content: "a" }, finish_reason: null }], usage })),
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  ];
  return openaiChat({ client: { chat: { completions: { create: async () => streamOf(events) } } }, model: "m" });
};

const messages = (...counts: readonly Event[]): Provider => {
  const events = [
    { type: "message_start", message: { id: "m", content: [], usage: counts[0] } },
    ...counts.slice(1).map((usage) => ({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage })),
    { type: "message_stop" },
  ];
  return anthropicMessages({ client: { messages: { create: async () => streamOf(events) } }, model: "m", maxTokens: 9 });
};

const google = (...counts: readonly Event[]): Provider => {
  const events = counts.map((usageMetadata, at) => ({
    candidates: [{ index: 0, content: { parts: [{ text: "a" }] }, finishReason: at === counts.length - 1 ? "STOP" : undefined }],
    usageMetadata,
  }));
  return googleGenerateContent({ client: { models: { generateContentStream: async () => streamOf(events) } }, model: "m" });
};

it.for<[what: string, provider: Provider, usage: Usage]>([
  [
    "openaiChat: keeps earlier token counts if the last counts are 0",
    chat(
      { prompt_tokens: 100, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 40 } },
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, prompt_tokens_details: { cached_tokens: 0 } },
    ),
    { inputTokens: 100, outputTokens: 50, totalTokens: 150, cachedInputTokens: 40 },
  ],
  [
    "openaiChat: keeps the input tokens if only the output tokens increase",
    chat({ prompt_tokens: 100, completion_tokens: 1 }, { prompt_tokens: 0, completion_tokens: 50 }),
    { inputTokens: 100, outputTokens: 50, totalTokens: 150 },
  ],
  [
    "anthropicMessages: keeps earlier token counts if the last counts are 0",
    messages(
      { input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 1 },
      { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 },
    ),
    { inputTokens: 100, outputTokens: 1, totalTokens: 101, cachedInputTokens: 40 },
  ],
  [
    "anthropicMessages: keeps the input token total if later counts list cached tokens separately",
    messages({ input_tokens: 100, output_tokens: 1 }, { input_tokens: 20, cache_read_input_tokens: 80, output_tokens: 9 }),
    { inputTokens: 100, outputTokens: 9, totalTokens: 109, cachedInputTokens: 80 },
  ],
  [
    "googleGenerateContent: keeps earlier token counts if the last counts are 0",
    google(
      { promptTokenCount: 100, candidatesTokenCount: 50, thoughtsTokenCount: 5, totalTokenCount: 155 },
      { promptTokenCount: 0, candidatesTokenCount: 0, thoughtsTokenCount: 0, totalTokenCount: 0 },
    ),
    { inputTokens: 100, outputTokens: 55, totalTokens: 155, reasoningTokens: 5 },
  ],
  [
    "openaiChat: uses the last token counts if they are lower",
    chat({ prompt_tokens: 20, completion_tokens: 1, total_tokens: 21 }, { prompt_tokens: 19, completion_tokens: 11 }),
    { inputTokens: 19, outputTokens: 11, totalTokens: 30 },
  ],
  [
    "anthropicMessages: uses the last token counts if they are lower, without the cached tokens of the first",
    messages(
      { input_tokens: 20, cache_read_input_tokens: 80, output_tokens: 1 },
      { input_tokens: 19, cache_read_input_tokens: 0, output_tokens: 9 },
    ),
    { inputTokens: 19, outputTokens: 9, totalTokens: 28, cachedInputTokens: 0 },
  ],
  [
    "googleGenerateContent: uses the last token counts if they are lower (recorded with gemini-2.0-flash)",
    google(
      { promptTokenCount: 20, totalTokenCount: 20 },
      { promptTokenCount: 19, candidatesTokenCount: 11, totalTokenCount: 30 },
    ),
    { inputTokens: 19, outputTokens: 11, totalTokens: 30 },
  ],
])("%s", async ([, provider, usage]) => {
  expect((await runIteration(provider, ask("hi"))).usage).toEqual(usage);
});
