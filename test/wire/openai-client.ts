// The real openai SDK, pointed at a local server. Every request body is recorded.

import OpenAI from "openai";
import { createWireFetch } from "./wire-fetch.ts";

/** A client and its requests. */
export interface WireClient {
  readonly client: OpenAI;
  /** The bodies of all requests, parsed, in order; retries included. */
  readonly bodies: readonly unknown[];
}

/** How a client behaves in a test. */
export interface WireClientOptions {
  /** Cuts responses into pieces of this many bytes. Default: as they arrive. */
  readonly pieceBytes?: number;
  /** Default 0: the SDK's own retries wait in real time. */
  readonly maxRetries?: number;
}

/** Makes a client for a server at `baseURL`. */
export function connectOpenAI(baseURL: string, { pieceBytes, maxRetries = 0 }: WireClientOptions = {}): WireClient {
  const { fetch, bodies } = createWireFetch(pieceBytes);
  return { client: new OpenAI({ baseURL, apiKey: "test", maxRetries, logLevel: "off", fetch }), bodies };
}
