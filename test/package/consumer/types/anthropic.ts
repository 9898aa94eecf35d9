// The client of Anthropic fits as it is.

import Anthropic from "@anthropic-ai/sdk";
import type { Provider } from "turnwright";
import { anthropicMessages, type AnthropicThinking } from "turnwright/anthropic";

/** Messages, with thinking. */
export function connect(thinking: AnthropicThinking): Provider {
  return anthropicMessages({ client: new Anthropic(), model: "claude-sonnet-4-6", thinking, cache: true });
}
