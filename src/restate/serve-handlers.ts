// Serves the handlers of a worker, which Restate calls over HTTP/2.

import { once } from "node:events";
import { createServer, type Http2Session } from "node:http2";
import { createEndpointHandler } from "@restatedev/restate-sdk";
import { createObjects } from "./run-object.ts";
import { createRunWorkflow } from "./run-workflow.ts";
import type { WorkerProcess } from "./worker.ts";

export interface HandlerServer {
  readonly port: number;
  /** Ends all connections, and with them all calls of Restate. */
  stop(): Promise<void>;
}

export async function serveHandlers(worker: WorkerProcess): Promise<HandlerServer> {
  const { names, admin, settings } = worker;
  const { retentionMs, port, host, identityKeys } = settings;
  const services = [createRunWorkflow(worker), ...createObjects({ names, admin, retentionMs })];
  const keys = identityKeys === undefined ? {} : { identityKeys: [...identityKeys] };
  // Restate shows failed attempts itself, so the log of its SDK is dropped.
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
