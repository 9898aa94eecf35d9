import { expect, it } from "vitest";
import type { Json, Provider } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat } from "turnwright/openai";
import { ask, runIteration } from "./provider-iteration.ts";

const odd = '"__proto__":{"x":1},"constructor":"c","toString":""';

/** Parses events from JSON text. In an object literal, `__proto__` would set the prototype. */
async function* streamOf(...events: readonly string[]): AsyncGenerator<unknown> {
  for (const event of events) yield JSON.parse(event);
}

const chat = (): AsyncGenerator<unknown> =>
  streamOf(
    '{"choices":[{"index":0,"delta":{"content":"a","reasoning_details":[{"type":"t","index":0,"text":"a"}]}}]}',
    `{"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"t","index":0,${odd}}]},"finish_reason":"stop"}]}`,
  );

const messages = (): AsyncGenerator<unknown> =>
  streamOf(
    '{"type":"message_start","message":{"id":"m","content":[]}}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"a"}}',
    `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s",${odd}}}`,
    '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
    '{"type":"message_stop"}',
  );

const generate = (): AsyncGenerator<unknown> =>
  streamOf(
    '{"candidates":[{"index":0,"content":{"parts":[{"functionCall":{"name":"q","id":"1","willContinue":true}}]}}]}',
    `{"candidates":[{"index":0,"content":{"parts":[{"functionCall":{"id":"1"},${odd}}]},"finishReason":"STOP"}]}`,
  );

it.for<[name: string, provider: Provider]>([
  ["openaiChat", openaiChat({ client: { chat: { completions: { create: async () => chat() } } }, model: "m" })],
  [
    "anthropicMessages",
    anthropicMessages({ client: { messages: { create: async () => messages() } }, model: "m", maxTokens: 5 }),
  ],
  [
    "googleGenerateContent",
    googleGenerateContent({ client: { models: { generateContentStream: async () => generate() } }, model: "m" }),
  ],
])("%s: keeps fields named __proto__, constructor and toString in provider metadata", async ([, provider]) => {
  const providerMetadata: Json[] = [];
  await runIteration(provider, ask("hi"), {
    onChunk: (chunk) => {
      if (chunk.type === "provider-metadata") providerMetadata.push(chunk.item);
    },
  });
  expect(JSON.stringify(providerMetadata)).toContain(odd);
});
