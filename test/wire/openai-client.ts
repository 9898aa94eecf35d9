// Connects the real OpenAI SDK to a local server, and records every request body.

import OpenAI from "openai";
import { createWireFetch } from "./wire-fetch.ts";

export interface WireClient {
  readonly client: OpenAI;
  /** The parsed bodies of all requests, in order. Includes retries. */
  readonly bodies: readonly unknown[];
}

export interface WireClientOptions {
  /** Cuts responses into pieces of this many bytes. Default: pieces as they arrive. */
  readonly pieceBytes?: number;
  /** The maximum number of the SDK's retries. Default 0, because the SDK waits in real time. */
  readonly maxRetries?: number;
}

export function connectOpenAI(baseURL: string, { pieceBytes, maxRetries = 0 }: WireClientOptions = {}): WireClient {
  const { fetch, bodies } = createWireFetch(pieceBytes);
  return { client: new OpenAI({ baseURL, apiKey: "test", maxRetries, logLevel: "off", fetch }), bodies };
}
