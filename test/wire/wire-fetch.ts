// A fetch for the SDKs of vendors. It records requests, and cuts responses at any position.

/** A fetch and its requests. */
export interface WireFetch {
  readonly fetch: typeof fetch;
  /** The bodies of all requests, parsed, in order; retries included. */
  readonly bodies: readonly unknown[];
  /** Their headers. */
  readonly headers: readonly Headers[];
}

/** @param pieceBytes cuts responses into pieces of this many bytes; default: as they arrive */
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

/** Cuts a stream of bytes into new pieces. A server cannot do that: the network joins the pieces that it writes. */
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
