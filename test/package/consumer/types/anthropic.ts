// The client of the Anthropic SDK is accepted without a cast.

import Anthropic from "@anthropic-ai/sdk";
import type { Provider } from "turnwright";
import { anthropicMessages, type AnthropicThinking } from "turnwright/anthropic";

export function connect(thinking: AnthropicThinking): Provider {
  return anthropicMessages({ client: new Anthropic(), model: "claude-sonnet-4-6", thinking, cache: true });
}
