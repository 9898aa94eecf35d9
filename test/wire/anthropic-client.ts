import Anthropic from "@anthropic-ai/sdk";
import { createWireFetch } from "./wire-fetch.ts";

export interface AnthropicWireClient {
  readonly client: Anthropic;
  readonly bodies: readonly unknown[];
  readonly headers: readonly Headers[];
}

export interface AnthropicWireOptions {
  /** The SDK receives responses in pieces of this number of bytes. By default, pieces arrive as the network sends them. */
  readonly pieceBytes?: number;
}

export function connectAnthropic(baseURL: string, { pieceBytes }: AnthropicWireOptions = {}): AnthropicWireClient {
  const { fetch, bodies, headers } = createWireFetch(pieceBytes);
  return { client: new Anthropic({ baseURL, apiKey: "test", maxRetries: 0, logLevel: "off", fetch }), bodies, headers };
}
