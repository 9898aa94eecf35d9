// The real Anthropic SDK, pointed at a local server. Every request is recorded.

import Anthropic from "@anthropic-ai/sdk";
import { createWireFetch } from "./wire-fetch.ts";

/** A client and its requests. */
export interface AnthropicWireClient {
  readonly client: Anthropic;
  /** The bodies of all requests, parsed, in order; retries included. */
  readonly bodies: readonly unknown[];
  readonly headers: readonly Headers[];
}

/** How a client behaves in a test. */
export interface AnthropicWireOptions {
  /** Cuts responses into pieces of this many bytes. Default: as they arrive. */
  readonly pieceBytes?: number;
}

/** Makes a client for a server at `baseURL`. It does not retry: the SDK's own retries wait in real time. */
export function connectAnthropic(baseURL: string, { pieceBytes }: AnthropicWireOptions = {}): AnthropicWireClient {
  const { fetch, bodies, headers } = createWireFetch(pieceBytes);
  return { client: new Anthropic({ baseURL, apiKey: "test", maxRetries: 0, logLevel: "off", fetch }), bodies, headers };
}
