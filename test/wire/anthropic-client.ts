// Connects the real Anthropic SDK to a local server, and records every request.

import Anthropic from "@anthropic-ai/sdk";
import { createWireFetch } from "./wire-fetch.ts";

export interface AnthropicWireClient {
  readonly client: Anthropic;
  /** The parsed bodies of all requests, in order. Includes retries. */
  readonly bodies: readonly unknown[];
  readonly headers: readonly Headers[];
}

export interface AnthropicWireOptions {
  /** Cuts responses into pieces of this many bytes. Default: pieces as they arrive. */
  readonly pieceBytes?: number;
}

/** Creates a client for a server at `baseURL`. The client does not retry, because the SDK's retries wait in real time. */
export function connectAnthropic(baseURL: string, { pieceBytes }: AnthropicWireOptions = {}): AnthropicWireClient {
  const { fetch, bodies, headers } = createWireFetch(pieceBytes);
  return { client: new Anthropic({ baseURL, apiKey: "test", maxRetries: 0, logLevel: "off", fetch }), bodies, headers };
}
