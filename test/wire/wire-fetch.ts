// A fetch for the SDKs of vendors: it keeps what leaves, and cuts what comes back anywhere.

/** A fetch and what has left through it. */
export interface WireFetch {
  readonly fetch: typeof fetch;
  /** The bodies of all requests, parsed, in order; retries included. */
  readonly bodies: readonly unknown[];
  /** Their headers. */
  readonly headers: readonly Headers[];
}

/** @param pieceBytes cuts what comes back into pieces of this many bytes, wherever that falls; default as it comes */
export function createWireFetch(pieceBytes: number | undefined): WireFetch {
  const bodies: unknown[] = [];
  const headers: Headers[] = [];
  return {
    bodies,
    headers,
    async fetch(input, init) {
      if (typeof init?.body === "string") {
        bodies.push(JSON.parse(init.body));
        headers.push(new Headers(init.headers));
      }
      const response = await fetch(input, init);
      if (pieceBytes === undefined || response.body === null) return response;
      return new Response(response.body.pipeThrough(recut(pieceBytes)), response);
    },
  };
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
