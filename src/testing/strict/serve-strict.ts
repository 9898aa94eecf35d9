import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../core/index.ts";
import type { ReceivedText } from "./answer-request.ts";
import { playFrames } from "./play-frames.ts";
import type { Reply } from "./write-answer.ts";
import { show } from "../../services/rule-checks.ts";

/** A strict service that listens on a port. */
export interface StrictServer {
  /** The address, for example "http://127.0.0.1:40123". Add the path that the SDK expects, for example "/v1". */
  readonly url: string;
  /** Closes all connections and the server. */
  close(): Promise<void>;
}

export async function serveStrict(answer: (received: ReceivedText) => Reply, clock: Clock): Promise<StrictServer> {
  const { createServer } = await import("node:http");
  const server = createServer((request, response) => void respond(request, response));

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const leaving = new AbortController();
    response.once("close", () => leaving.abort());
    try {
      const reply = answer(await readReceived(request));
      response.writeHead(reply.status, reply.headers);
      response.flushHeaders();
      for await (const text of playFrames(reply.frames, { clock, signal: leaving.signal })) response.write(text);
      response.end();
    } catch {
      // The script broke the connection, or the client disconnected.
      response.destroy();
    }
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readReceived(request: IncomingMessage): Promise<ReceivedText> {
  let text = "";
  request.setEncoding("utf8");
  for await (const piece of request) text += show(piece);
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) if (value !== undefined) headers.set(name, show(value));
  return { url: `http://127.0.0.1${request.url ?? "/"}`, headers, text };
}
