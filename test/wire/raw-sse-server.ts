// A server that sends exactly the given bytes. Mock servers of vendors lack these cases: early ends, errors inside of a stream,
// dropped connections, and bodies of a wrong type.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { readBody, serve } from "./serve.ts";

export interface RawReply {
  readonly status?: number;
  readonly headers?: { readonly [name: string]: string };
  readonly frames?: readonly string[];
  /**
   * After the last frame, "end" completes the body, "drop" closes the connection, and "stall" keeps it open. Default "end".
   */
  readonly ending?: "end" | "drop" | "stall";
}

export interface RawServer {
  readonly url: string;
  readonly bodies: readonly unknown[];
  /** Resolves when the client closes the connection of a response with the ending "stall". */
  readonly left: Promise<void>;
  close(): Promise<void>;
}

export const sse = (data: unknown): string => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

export const done: string = sse("[DONE]");

export const json = (status: number, body: unknown, headers: { readonly [name: string]: string } = {}): RawReply => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  frames: [JSON.stringify(body)],
});

/** Sends the n-th reply for the n-th request. Requests without a reply get status 500. */
export async function startRawServer(replies: readonly RawReply[]): Promise<RawServer> {
  const bodies: unknown[] = [];
  let markLeft: () => void = () => undefined;
  const left = new Promise<void>((resolve) => {
    markLeft = resolve;
  });
  const server = createServer((request, response) => {
    void answer(request, response);
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = replies[bodies.length] ?? { status: 500, frames: ["There is no reply for this request."] };
    bodies.push(await readBody(request));
    response.writeHead(reply.status ?? 200, reply.headers ?? { "content-type": "text/event-stream" });
    response.flushHeaders();
    for (const frame of reply.frames ?? []) await new Promise<void>((resolve) => response.write(frame, () => resolve()));
    const { ending = "end" } = reply;
    if (ending === "end") response.end();
    else if (ending === "drop") response.destroy();
    else response.once("close", markLeft);
  }

  const { url, close } = await serve(server);
  return {
    url: `${url}/v1`,
    bodies,
    left,
    close,
  };
}
