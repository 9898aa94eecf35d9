export interface WireFetch {
  readonly fetch: typeof fetch;
  readonly bodies: readonly unknown[];
  readonly headers: readonly Headers[];
}

/** Records requests. `pieceBytes` cuts responses into pieces of that size. Default: no cuts. */
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
 * Splits a stream into pieces of `pieceBytes`. A server cannot do this, because the network joins small pieces. Each piece is
 * created on demand, because Node is slow if thousands of pieces wait in a stream.
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
