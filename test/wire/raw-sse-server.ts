// A server that sends exactly the given bytes, for cases that no vendor's mock covers: a clean early end, an error in
// the middle, a dropped connection, a body that is not what it claims to be.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { readBody, serve } from "./serve.ts";

/** One scripted answer. */
export interface RawReply {
  /** Default 200. */
  readonly status?: number;
  /** Default `text/event-stream`. */
  readonly headers?: { readonly [name: string]: string };
  /** Written one after the other, as they are. */
  readonly frames?: readonly string[];
  /** "end" closes the body properly, "drop" the connection under it, "stall" nothing until the client goes away. Default "end". */
  readonly ending?: "end" | "drop" | "stall";
}

/** A running server. */
export interface RawServer {
  readonly url: string;
  /** The parsed bodies of all requests, in order. */
  readonly bodies: readonly unknown[];
  /** Resolves when the client has closed the connection of a stalled answer. */
  readonly left: Promise<void>;
  close(): Promise<void>;
}

/** One event as Chat Completions frames it. */
export const sse = (data: unknown): string => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

/** The end marker of Chat Completions. */
export const done: string = sse("[DONE]");

/** A JSON answer, such as an error body. */
export const json = (status: number, body: unknown, headers: { readonly [name: string]: string } = {}): RawReply => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  frames: [JSON.stringify(body)],
});

/** Answers the n-th request with the n-th reply, and every later one with status 500. */
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
