import Anthropic from "@anthropic-ai/sdk";
import { createWireFetch } from "./wire-fetch.ts";

export interface AnthropicWireClient {
  readonly client: Anthropic;
  /** The parsed bodies of all requests, oldest first. Includes retries. */
  readonly bodies: readonly unknown[];
  readonly headers: readonly Headers[];
}

export interface AnthropicWireOptions {
  /** The size of the pieces in which the SDK receives responses, in bytes. Default: pieces as they arrive. */
  readonly pieceBytes?: number;
}

/** Creates a client of the Anthropic SDK. Retries are off, because the SDK waits in real time before a retry. */
export function connectAnthropic(baseURL: string, { pieceBytes }: AnthropicWireOptions = {}): AnthropicWireClient {
  const { fetch, bodies, headers } = createWireFetch(pieceBytes);
  return { client: new Anthropic({ baseURL, apiKey: "test", maxRetries: 0, logLevel: "off", fetch }), bodies, headers };
}
