import { GoogleGenAI, type HttpRetryOptions } from "@google/genai";
import { createWireFetch } from "./wire-fetch.ts";

export interface GoogleWireClient {
  readonly client: GoogleGenAI;
  /** The parsed bodies of all requests, oldest first. */
  readonly bodies: readonly unknown[];
}

export interface GoogleWireOptions {
  /** The size of the pieces in which the SDK receives responses, in bytes. Default: pieces as they arrive. */
  readonly pieceBytes?: number;
  /** True if the client uses Vertex AI. Default false. */
  readonly vertexai?: boolean;
  /** The retry options of the SDK. Default: no retries. */
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
