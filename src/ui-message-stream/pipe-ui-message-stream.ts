import type { UIEventItem } from "./create-ui-message-mapper.ts";
import { toHeaders, UIEventLines, type UIResponseOptions } from "./ui-event-lines.ts";

/** The part of a `ServerResponse` of node:http that is used. */
export interface UINodeResponse {
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
 * Answers a request of `useChat` with a run, on a response of node:http, which Express and Fastify have too. Resolves when the
 * response has ended, or when the page has left; the iterator of the source is returned then. A slow connection slows the reading.
 * Throws LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * createServer(async (req, res) => {
 *   const { message } = await readUIChatRequest(req);
 *   await pipeUIMessageStream(streamToolLoop({ provider, tools, messages: [...history, message] }), res);
 * });
 */
export async function pipeUIMessageStream(
  events: AsyncIterable<UIEventItem>,
  res: UINodeResponse,
  options: UIResponseOptions = {},
): Promise<void> {
  const lines = new UIEventLines(events, options);
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
