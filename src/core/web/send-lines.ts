// Server-Sent Events on their way: as a web stream, or on a response of node:http.

import type { SSELines } from "./sse-lines.ts";

/** The part of a `ServerResponse` of node:http that is used. */
export interface NodeResponse {
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  writeHead(status: number, headers: { [name: string]: string }): unknown;
  flushHeaders(): void;
  /** Returns false if the connection is slower than the run. */
  write(text: string): boolean;
  end(): unknown;
  on(event: "drain" | "close" | "error", listener: () => void): unknown;
  off(event: "drain" | "close" | "error", listener: () => void): unknown;
}

/** Returns the lines as bytes. The source is read as fast as the stream is; cancelling the stream leaves the source. */
export function toByteStream<Chunk>(lines: SSELines<Chunk>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const text = await lines.next();
        if (text === undefined) controller.close();
        else controller.enqueue(encoder.encode(text));
      },
      cancel: () => lines.leave(),
    },
    // Reading begins with the reader.
    { highWaterMark: 0 },
  );
}

/** Returns the lines as a web `Response`. */
export function toLineResponse<Chunk>(lines: SSELines<Chunk>): Response {
  return new Response(toByteStream(lines), { headers: lines.headers });
}

/** Answers a request of node:http with the lines. Resolves when the response has ended, or when the page has left. */
export async function pipeLines<Chunk>(lines: SSELines<Chunk>, res: NodeResponse): Promise<void> {
  if (res.destroyed || res.writableEnded) return lines.leave();
  let isGone = false;
  let wake: (() => void) | undefined;
  const onDrain = (): void => wake?.();
  const onGone = (): void => {
    isGone = true;
    lines.leave();
    wake?.();
  };
  res.on("drain", onDrain);
  res.on("close", onGone);
  res.on("error", onGone);
  try {
    res.writeHead(200, { ...lines.headers });
    res.flushHeaders();
    for (let text = await lines.next(); text !== undefined; text = await lines.next()) {
      if (res.write(text) || isGone) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (!isGone) res.end();
  } finally {
    lines.leave();
    res.off("drain", onDrain);
    res.off("close", onGone);
    res.off("error", onGone);
  }
}
