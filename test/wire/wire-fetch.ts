// A fetch for the vendors' SDKs. It records requests, and cuts responses at any position.

export interface WireFetch {
  readonly fetch: typeof fetch;
  /** The parsed bodies of all requests, in order. Includes retries. */
  readonly bodies: readonly unknown[];
  /** The headers of all requests, in order. */
  readonly headers: readonly Headers[];
}

/** Creates a fetch. With `pieceBytes`, it cuts responses into pieces of this many bytes. Default: pieces as they arrive. */
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
      return new Response(recut(response.body, pieceBytes), response);
    },
  };
}

/**
 * Cuts a stream of bytes into new pieces. A server cannot do this, because the network joins the pieces that a server writes.
 * Each piece is created when the reader requests it, because Node is slow for streams with thousands of waiting pieces.
 */
function recut(source: ReadableStream<Uint8Array>, pieceBytes: number): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let rest = new Uint8Array(0);
  return new ReadableStream({
    async pull(controller) {
      while (rest.length < pieceBytes) {
        const { done, value } = await reader.read();
        if (done) {
          if (rest.length > 0) controller.enqueue(rest);
          controller.close();
          return;
        }
        const bytes = new Uint8Array(rest.length + value.length);
        bytes.set(rest);
        bytes.set(value, rest.length);
        rest = bytes;
      }
      controller.enqueue(rest.slice(0, pieceBytes));
      rest = rest.subarray(pieceBytes);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
