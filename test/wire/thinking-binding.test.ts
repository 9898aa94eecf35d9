// The control of thinking that no longer fits is only sent to services that are known to accept it.

import Anthropic from "@anthropic-ai/sdk";
import { expect, it } from "vitest";
import { runToolLoop } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { strictService } from "turnwright/testing";

const hosts = {
  "the Anthropic API": "https://api.anthropic.com",
  Bedrock: "https://bedrock-runtime.us-east-1.amazonaws.com",
  "Bedrock Mantle": "https://bedrock-mantle.us-east-1.api.aws/anthropic",
  "Vertex AI": "https://us-east5-aiplatform.googleapis.com/v1",
  "Microsoft Foundry": "https://test.services.ai.azure.com/anthropic",
} as const;

it.each([
  ["the Anthropic API", true],
  ["Bedrock", false],
  ["Bedrock Mantle", false],
  ["Vertex AI", false],
  ["Microsoft Foundry", false],
] as const)("anthropicMessages at %s: sends the block_binding field and its beta header: %s", async (host, isSent) => {
  const { fetch, requests } = strictService("anthropic");
  const client = new Anthropic({ apiKey: "test", baseURL: hosts[host], fetch, maxRetries: 0 });
  const provider = anthropicMessages({ client, model: "claude-opus-5-5", thinking: { type: "adaptive" } });
  const { status } = await runToolLoop({ provider, messages: [{ role: "user", content: "Hi" }] });
  const [request] = requests;
  const beta = request?.headers.get("anthropic-beta")?.includes("thinking-binding-controls") ?? false;
  expect([status, beta, JSON.stringify(request?.body).includes("block_binding")]).toEqual(["completed", isSent, isSent]);
});
