import OpenAI from "openai";
import { createWireFetch } from "./wire-fetch.ts";

export interface WireClient {
  readonly client: OpenAI;
  readonly bodies: readonly unknown[];
}

export interface WireClientOptions {
  /** The SDK receives responses in pieces of this number of bytes. By default, pieces arrive as the network sends them. */
  readonly pieceBytes?: number;
  /** How often the SDK retries a request. Default 0, because the SDK waits in real time before a retry. */
  readonly maxRetries?: number;
}

export function connectOpenAI(baseURL: string, { pieceBytes, maxRetries = 0 }: WireClientOptions = {}): WireClient {
  const { fetch, bodies } = createWireFetch(pieceBytes);
  return { client: new OpenAI({ baseURL, apiKey: "test", maxRetries, logLevel: "off", fetch }), bodies };
}
