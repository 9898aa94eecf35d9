// The real Anthropic SDK, pointed at a local server, with everything that leaves it kept.

import Anthropic from "@anthropic-ai/sdk";
import { createWireFetch } from "./wire-fetch.ts";

/** A client and what it has sent. */
export interface AnthropicWireClient {
  readonly client: Anthropic;
  /** The bodies of all requests, parsed, in order; retries included. */
  readonly bodies: readonly unknown[];
  readonly headers: readonly Headers[];
}

/** How a client behaves in a test. */
export interface AnthropicWireOptions {
  /** Cuts what comes back into pieces of this many bytes, wherever that falls. Default: as it comes. */
  readonly pieceBytes?: number;
}

/** Makes a client for a server at `baseURL`. It does not retry: the SDK's own retries wait in real time. */
export function connectAnthropic(baseURL: string, { pieceBytes }: AnthropicWireOptions = {}): AnthropicWireClient {
  const { fetch, bodies, headers } = createWireFetch(pieceBytes);
  return { client: new Anthropic({ baseURL, apiKey: "test", maxRetries: 0, logLevel: "off", fetch }), bodies, headers };
}
