// Connects the real Google SDK to a local server, and records every request body.

import { GoogleGenAI, type HttpRetryOptions } from "@google/genai";
import { createWireFetch } from "./wire-fetch.ts";

export interface GoogleWireClient {
  readonly client: GoogleGenAI;
  /** The parsed bodies of all requests, in order. */
  readonly bodies: readonly unknown[];
}

export interface GoogleWireOptions {
  /** Cuts responses into pieces of this many bytes. Default: pieces as they arrive. */
  readonly pieceBytes?: number;
  /** True for Vertex AI. Default false. */
  readonly vertexai?: boolean;
  /** The options for the SDK's retries. Default: no retries. */
  readonly retryOptions?: HttpRetryOptions | undefined;
}

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
