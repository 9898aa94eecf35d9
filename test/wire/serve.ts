import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";

export interface Serving {
  readonly url: string;
  close(): Promise<void>;
}

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

export async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = "";
  request.setEncoding("utf8");
  for await (const piece of request) text += String(piece);
  return JSON.parse(text) as unknown;
}
