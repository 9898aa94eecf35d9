import OpenAI from "openai";
import { createWireFetch } from "./wire-fetch.ts";

export interface WireClient {
  readonly client: OpenAI;
  /** The parsed bodies of all requests, oldest first. Includes retries. */
  readonly bodies: readonly unknown[];
}

export interface WireClientOptions {
  /** The size of the pieces in which the SDK receives responses, in bytes. Default: pieces as they arrive. */
  readonly pieceBytes?: number;
  /** The maximum number of retries by the SDK. Default 0, because the SDK waits in real time before a retry. */
  readonly maxRetries?: number;
}

export function connectOpenAI(baseURL: string, { pieceBytes, maxRetries = 0 }: WireClientOptions = {}): WireClient {
  const { fetch, bodies } = createWireFetch(pieceBytes);
  return { client: new OpenAI({ baseURL, apiKey: "test", maxRetries, logLevel: "off", fetch }), bodies };
}
