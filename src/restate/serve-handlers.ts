// Serves the handlers of a worker, which Restate calls over HTTP/2.

import { once } from "node:events";
import { createServer, type Http2Session } from "node:http2";
import { createEndpointHandler } from "@restatedev/restate-sdk";

export interface HandlerServer {
  readonly port: number;
  /** Ends all connections, and with them all calls of Restate. */
  stop(): Promise<void>;
}

export interface ServerOptions {
  readonly port: number;
  readonly host: string;
  readonly identityKeys?: readonly string[] | undefined;
}

type EndpointServices = Parameters<typeof createEndpointHandler>[0]["services"];

export async function serveHandlers(
  services: EndpointServices,
  { port, host, identityKeys }: ServerOptions,
): Promise<HandlerServer> {
  const keys = identityKeys === undefined ? {} : { identityKeys: [...identityKeys] };
  // The server of Restate shows failed attempts, so the log of the SDK is dropped.
  const server = createServer(createEndpointHandler({ services, ...keys, logger: () => {} }));
  const sessions = new Set<Http2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    async stop() {
      const closed = once(server, "close");
      server.close();
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}
