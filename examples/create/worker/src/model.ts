// Chooses the model: the service whose key is in .env or in the environment, or a script, which needs neither a key nor a network.

import { existsSync } from "node:fs";
import type { Provider } from "turnwright";

export async function chooseModel(script: Provider): Promise<Provider> {
  if (existsSync(".env")) process.loadEnvFile(".env");
  const { OPENAI_API_KEY, ANTHROPIC_API_KEY, MODEL } = process.env;
  if (OPENAI_API_KEY) {
    const { default: OpenAI } = await import("openai");
    const { openaiChat } = await import("turnwright/openai");
    return openaiChat({ client: new OpenAI(), model: MODEL || "gpt-5-mini" });
  }
  if (ANTHROPIC_API_KEY) {
    const { default: Anthropic } = await import("@anthropic-ai/sdk");
    const { anthropicMessages } = await import("turnwright/anthropic");
    return anthropicMessages({ client: new Anthropic(), model: MODEL || "claude-sonnet-4-6", cache: true });
  }
  console.log("No key is set, so a script plays the model. To go live, copy .env.example to .env, and set a key.\n");
  return script;
}
