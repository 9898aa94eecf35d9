// The real openai SDK, pointed at a local server, with every request body that leaves it kept.

import OpenAI from "openai";

/** A client and what it has sent. */
export interface WireClient {
  readonly client: OpenAI;
  /** The bodies of all requests, parsed, in order; retries included. */
  readonly bodies: readonly unknown[];
}

/** How a client behaves in a test. */
export interface WireClientOptions {
  /** Cuts what comes back into pieces of this many bytes, wherever that falls. Default: as it comes. */
  readonly pieceBytes?: number;
  /** Default 0: the SDK's own retries wait in real time. */
  readonly maxRetries?: number;
}

/** Makes a client for a server at `baseURL`. */
export function connectOpenAI(baseURL: string, { pieceBytes, maxRetries = 0 }: WireClientOptions = {}): WireClient {
  const bodies: unknown[] = [];
  const client = new OpenAI({
    baseURL,
    apiKey: "test",
    maxRetries,
    logLevel: "off",
    async fetch(input, init) {
      if (typeof init?.body === "string") bodies.push(JSON.parse(init.body));
      const response = await fetch(input, init);
      if (pieceBytes === undefined || response.body === null) return response;
      return new Response(response.body.pipeThrough(recut(pieceBytes)), response);
    },
  });
  return { client, bodies };
}

/** Cuts a stream of bytes anew. A server cannot do it: what it writes in pieces, the network puts together. */
function recut(pieceBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let rest = new Uint8Array(0);
  return new TransformStream({
    transform(chunk, controller) {
      const bytes = new Uint8Array(rest.length + chunk.length);
      bytes.set(rest);
      bytes.set(chunk, rest.length);
      const whole = bytes.length - (bytes.length % pieceBytes);
      for (let start = 0; start < whole; start += pieceBytes) controller.enqueue(bytes.slice(start, start + pieceBytes));
      rest = bytes.slice(whole);
    },
    flush(controller) {
      if (rest.length > 0) controller.enqueue(rest);
    },
  });
}
