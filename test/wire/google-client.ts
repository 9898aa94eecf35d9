// The real Google SDK, pointed at a local server, with every request body that leaves it kept.

import { GoogleGenAI, type HttpRetryOptions } from "@google/genai";
import { createWireFetch } from "./wire-fetch.ts";

/** A client and what it has sent. */
export interface GoogleWireClient {
  readonly client: GoogleGenAI;
  /** The bodies of all requests, parsed, in order. */
  readonly bodies: readonly unknown[];
}

/** How a client behaves in a test. */
export interface GoogleWireOptions {
  /** Cuts what comes back into pieces of this many bytes, wherever that falls. Default: as it comes. */
  readonly pieceBytes?: number;
  /** True for Vertex AI. Default false. */
  readonly vertexai?: boolean;
  /** How often the SDK repeats a request by itself. Default: it does not. */
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
