// Serves handlers of a test to a Restate server.

import { once } from "node:events";
import { createServer, type Http2Session } from "node:http2";
import { createEndpointHandler } from "@restatedev/restate-sdk";

type Services = NonNullable<Parameters<typeof createEndpointHandler>[0]["services"]>;

export interface Endpoint {
  stop(): Promise<void>;
}

export async function serve(services: Services, adminUrl: string): Promise<Endpoint> {
  const server = createServer(createEndpointHandler({ services, logger: () => {} }));
  const sessions = new Set<Http2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const response = await fetch(`${adminUrl}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri: `http://127.0.0.1:${port}` }),
  });
  if (!response.ok) throw new Error(await response.text());
  return {
    async stop() {
      const ended = once(server, "close");
      server.close();
      for (const session of sessions) session.destroy();
      await ended;
    },
  };
}
