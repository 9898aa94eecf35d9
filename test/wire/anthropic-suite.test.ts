// The conformance suite for providers, played over a real connection and through the real SDK.

import { describe, it } from "vitest";
import { anthropicMessages } from "turnwright/anthropic";
import { providerSuite, type ProviderFixture, type ProviderScenario } from "turnwright/testing";
import { connectAnthropic } from "./anthropic-client.ts";
import { block, call, event, marker, start } from "./anthropic-frames.ts";
import { json, startRawServer, type RawReply } from "./raw-sse-server.ts";

type Reply = ProviderScenario["replies"][number];

/** One reply of a scenario, in the words of the Messages wire. */
function toRawReply(reply: Reply): RawReply {
  if (reply.kind === "failure") return json(reply.status, { type: "error", error: { type: "api_error", message: "No." } });
  const { inputTokens, outputTokens } = reply.usage;
  const opening = start({ input_tokens: inputTokens - 10, cache_read_input_tokens: 10, output_tokens: 1 });
  // Character by character.
  const texts = Array.from(reply.text, (text) => ({ type: "text_delta", text }));
  const offset = texts.length === 0 ? 0 : 1;
  const said = texts.length === 0 ? [] : [block(0, { type: "text", text: "" }, ...texts)];
  const calls = reply.calls.map(({ name, args }, index) => call(offset + index, [`toolu_${index}`, name, JSON.stringify(args)]));
  const frames = [opening, ...said, ...calls];
  if (reply.ending !== "finished") return { frames, ending: reply.ending === "silent" ? "stall" : "end" };
  const reason = reply.calls.length > 0 ? "tool_use" : "end_turn";
  const delta = { stop_reason: reason, stop_sequence: null };
  return {
    frames: [
      ...frames,
      event({ type: "message_delta", delta, usage: { input_tokens: null, output_tokens: outputTokens } }),
      marker,
    ],
  };
}

async function create(scenario: ProviderScenario): Promise<ProviderFixture> {
  const server = await startRawServer(scenario.replies.map(toRawReply));
  const { client } = connectAnthropic(server.url);
  return { provider: anthropicMessages({ client, model: "m" }), close: () => server.close() };
}

describe("anthropicMessages as a provider", () => {
  for (const { title, run } of providerSuite({ create })) it(title, run);
});
