// Shared parts of all test servers: they take a free port, read bodies, and close with all their connections.

import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";

/** A server on a port of its own. */
export interface Serving {
  /** Without a path. */
  readonly url: string;
  close(): Promise<void>;
}

/** Lets a server listen on a free port. */
export async function serve(server: Server): Promise<Serving> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("The server has no port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** The body of a request, parsed. */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = "";
  request.setEncoding("utf8");
  for await (const piece of request) text += String(piece);
  return JSON.parse(text) as unknown;
}
