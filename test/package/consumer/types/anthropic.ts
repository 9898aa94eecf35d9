// The client of the Anthropic SDK is accepted without a cast.

import Anthropic from "@anthropic-ai/sdk";
import type { Provider } from "turnwright";
import { anthropicMessages, type AnthropicMessagesOptions } from "turnwright/anthropic";

export function connect(thinking: AnthropicMessagesOptions["thinking"]): Provider {
  return anthropicMessages({ client: new Anthropic(), model: "claude-sonnet-4-6", thinking, cache: true });
}
