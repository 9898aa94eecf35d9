// The conformance suite for providers, played over a real connection and through the real OpenAI package of each generation.

import { describe, it } from "vitest";
import { aiSdkModel } from "turnwright/ai-sdk";
import { providerSuite, type ProviderFixture, type ProviderScenario } from "turnwright/testing";
import { generations } from "./ai-sdk-client.ts";
import { toRawReply } from "./chat-replies.ts";
import { startRawServer } from "./raw-sse-server.ts";

describe.each(generations)("aiSdkModel over the OpenAI package of specification $version", ({ connect }) => {
  async function create(scenario: ProviderScenario): Promise<ProviderFixture> {
    const server = await startRawServer(scenario.replies.map(toRawReply));
    return { provider: aiSdkModel({ model: connect(server.url).chat }), close: () => server.close() };
  }
  for (const { title, run } of providerSuite({ create })) it(title, run);
});
