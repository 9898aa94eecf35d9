// The conformance suite for providers, played over a real connection and through the real SDK.

import { describe, it } from "vitest";
import { googleGenerateContent } from "turnwright/google";
import { providerSuite, type ProviderFixture, type ProviderScenario } from "turnwright/testing";
import { connectGoogle } from "./google-client.ts";
import { callPart, counts, says, stop, text } from "./google-frames.ts";
import { json, startRawServer, type RawReply } from "./raw-sse-server.ts";

type Reply = ProviderScenario["replies"][number];

/** How the service names its calls. */
type Naming = (index: number) => string;

/** One reply of a scenario, in the words of the wire. */
function toRawReply(reply: Reply, naming: Naming): RawReply {
  if (reply.kind === "failure") return json(reply.status, { error: { code: reply.status, message: "No.", status: "UNKNOWN" } });
  const { inputTokens, outputTokens } = reply.usage;
  // Character by character, each call in a chunk of its own.
  const said = Array.from(reply.text, text);
  const calls = reply.calls.map(({ name, args }, index) => says(callPart(naming(index), name, args)));
  const frames = [...said, ...calls];
  if (reply.ending !== "finished") return { frames, ending: reply.ending === "silent" ? "stall" : "end" };
  return { frames: [...frames, stop("STOP", {}, counts(inputTokens, outputTokens - 4, 4))] };
}

describe.for<[what: string, naming: Naming]>([
  ["with ids", (index) => `id-${index}`],
  ["without ids", () => ""],
])("googleGenerateContent as a provider, for calls %s", ([, naming]) => {
  async function create(scenario: ProviderScenario): Promise<ProviderFixture> {
    const server = await startRawServer(scenario.replies.map((reply) => toRawReply(reply, naming)));
    const { client } = connectGoogle(server.url);
    return { provider: googleGenerateContent({ client, model: "gemini-3-pro-preview" }), close: () => server.close() };
  }

  for (const { title, run } of providerSuite({ create })) it(title, run);
});
