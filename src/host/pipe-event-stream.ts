import { EventLines, type EventSource, type EventStreamOptions, toHeaders } from "./event-lines.ts";
import { isEmpty } from "./to-event-stream.ts";

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

/**
 * Answers a request with the events of a run, on a response of node:http, which Express and Fastify have too. Works as
 * `toEventStreamResponse`. Resolves when the response has ended, or when the page has left.
 *
 * @example
 * createServer((req, res) => void pipeEventStream(host.join(id, { from: lastEventId(req) }), res));
 */
export async function pipeEventStream(
  source: EventSource | undefined,
  res: NodeResponse,
  options: EventStreamOptions = {},
): Promise<void> {
  if (source === undefined) return endEmpty(res, options);
  const lines = new EventLines(source, options);
  if (res.destroyed || res.writableEnded) return lines.leave();
  if (isEmpty(source)) {
    lines.leave();
    return endEmpty(res, options);
  }
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
    res.writeHead(200, { ...toHeaders(options) });
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

function endEmpty(res: NodeResponse, { headers }: EventStreamOptions): void {
  if (res.destroyed || res.writableEnded) return;
  res.writeHead(204, { ...headers });
  res.end();
}
