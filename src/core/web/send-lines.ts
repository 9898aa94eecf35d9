import type { SSELines } from "./sse-lines.ts";

/** The parts of a node:http `ServerResponse` that `pipeLines` needs. */
export interface NodeResponse {
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  writeHead(status: number, headers: { [name: string]: string }): unknown;
  flushHeaders(): void;
  /** Writes text. Returns false if the write buffer is full. The caller must then wait for the event "drain". */
  write(text: string): boolean;
  end(): unknown;
  on(event: "drain" | "close" | "error", listener: () => void): unknown;
  off(event: "drain" | "close" | "error", listener: () => void): unknown;
}

/** Converts lines to a stream of bytes. Lines are created on demand. Cancelling the stream closes the source of the chunks. */
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
    // With 0, no line is created before the stream is read.
    { highWaterMark: 0 },
  );
}

export function toLineResponse<Chunk>(lines: SSELines<Chunk>): Response {
  return new Response(toByteStream(lines), { headers: lines.headers });
}

/** Writes the lines to a node:http response. Resolves when the response has ended or the page has disconnected. */
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
