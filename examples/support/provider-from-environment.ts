// The user's own model, if there is a key for one.

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { Provider } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { openaiChat } from "turnwright/openai";

/**
 * Makes a provider over an OpenAI client if OPENAI_API_KEY is set, or over an Anthropic client if ANTHROPIC_API_KEY is set.
 * OPENAI_MODEL and ANTHROPIC_MODEL name the model. OPENAI_BASE_URL and ANTHROPIC_BASE_URL name other servers. Returns undefined if no key
 * is set.
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
