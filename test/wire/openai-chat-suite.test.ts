// The conformance suite for providers, played over a real connection and through the real SDK.

import { describe, it } from "vitest";
import { openaiChat } from "turnwright/openai";
import { providerSuite, type ProviderFixture, type ProviderScenario } from "turnwright/testing";
import { toRawReply } from "./chat-replies.ts";
import { connectOpenAI } from "./openai-client.ts";
import { startRawServer } from "./raw-sse-server.ts";

async function create(scenario: ProviderScenario): Promise<ProviderFixture> {
  const server = await startRawServer(scenario.replies.map(toRawReply));
  const { client } = connectOpenAI(server.url);
  return { provider: openaiChat({ client, model: "m" }), close: () => server.close() };
}

describe("openaiChat as a provider", () => {
  for (const { title, run } of providerSuite({ create })) it(title, run);
});
