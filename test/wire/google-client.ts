// The real Google SDK, pointed at a local server. Every request body is recorded.

import { GoogleGenAI, type HttpRetryOptions } from "@google/genai";
import { createWireFetch } from "./wire-fetch.ts";

/** A client and its requests. */
export interface GoogleWireClient {
  readonly client: GoogleGenAI;
  /** The bodies of all requests, parsed, in order. */
  readonly bodies: readonly unknown[];
}

/** How a client behaves in a test. */
export interface GoogleWireOptions {
  /** Cuts responses into pieces of this many bytes. Default: as they arrive. */
  readonly pieceBytes?: number;
  /** True for Vertex AI. Default false. */
  readonly vertexai?: boolean;
  /** The SDK's own retries. Default: none. */
  readonly retryOptions?: HttpRetryOptions | undefined;
}

/** Makes a client for a server at `baseUrl`. */
export function connectGoogle(
  baseUrl: string,
  { pieceBytes, vertexai = false, retryOptions }: GoogleWireOptions = {},
): GoogleWireClient {
  const { fetch, bodies } = createWireFetch(pieceBytes);
  const client = new GoogleGenAI({
    vertexai,
    apiKey: "test",
    httpOptions: { baseUrl, fetch, ...(retryOptions === undefined ? {} : { retryOptions }) },
  });
  return { client, bodies };
}
