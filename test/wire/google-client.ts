import { GoogleGenAI, type HttpRetryOptions } from "@google/genai";
import { createWireFetch } from "./wire-fetch.ts";

export interface GoogleWireClient {
  readonly client: GoogleGenAI;
  readonly bodies: readonly unknown[];
}

export interface GoogleWireOptions {
  /** The SDK receives responses in pieces of this number of bytes. By default, pieces arrive as the network sends them. */
  readonly pieceBytes?: number;
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
    // aimock does not know the version v1, which is the default of @google/genai 3.
    apiVersion: "v1beta",
    apiKey: "test",
    httpOptions: { baseUrl, fetch, ...(retryOptions === undefined ? {} : { retryOptions }) },
  });
  return { client, bodies };
}
