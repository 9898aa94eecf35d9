import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { Provider } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { openaiChat } from "turnwright/openai";

/**
 * Makes a provider for OpenAI if OPENAI_API_KEY is set, or for Anthropic if ANTHROPIC_API_KEY is set. Returns undefined if
 * neither is set. OPENAI_MODEL and ANTHROPIC_MODEL choose the model. OPENAI_BASE_URL and ANTHROPIC_BASE_URL replace the URL of
 * the service.
 */
export function providerFromEnvironment(env: NodeJS.ProcessEnv = process.env): Provider | undefined {
  const { OPENAI_API_KEY, OPENAI_MODEL = "gpt-5-mini", ANTHROPIC_API_KEY, ANTHROPIC_MODEL = "claude-sonnet-4-6" } = env;
  if (isSet(OPENAI_API_KEY)) return openaiChat({ client: new OpenAI(), model: OPENAI_MODEL });
  if (isSet(ANTHROPIC_API_KEY)) return anthropicMessages({ client: new Anthropic(), model: ANTHROPIC_MODEL, cache: true });
  return undefined;
}

function isSet(key: string | undefined): boolean {
  return key !== undefined && key !== "";
}
