// A server on the loopback interface: conversations of a host, for AG-UI clients.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isLoopError } from "turnwright";
import {
  type AGUIRequest,
  type AGUIResponseOptions,
  type AGUIVersion,
  isRequestError,
  pipeAGUIStream,
  readAGUIRequest,
  toAGUIThread,
} from "turnwright/ag-ui";
import { createRunHost, type HostedLoopOptions, lastEventId, type RunHost, type RunStore } from "turnwright/host";

interface ServerOptions {
  /** The options of each run. */
  readonly run: HostedLoopOptions;
  readonly version: AGUIVersion;
  readonly store?: RunStore | undefined;
}

/** A server that is listening. */
export interface PageServer {
  readonly url: string;
  readonly host: RunHost;
  /** The requests that were read, in order. */
  readonly requests: AGUIRequest[];
  /** Cuts each connection after so many events; undefined cuts none. */
  cutAfter: number | undefined;
  close(): Promise<void>;
}

/** Starts a server. */
export async function serve({ run, version, store }: ServerOptions): Promise<PageServer> {
  const host = createRunHost({ store });
  const requests: AGUIRequest[] = [];
  const shared = { version, keepAliveMs: Infinity };

  async function post(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const request = await readAGUIRequest(req);
    requests.push(request);
    const { threadId, runId, message, continues, decisions, results } = request;
    const options: AGUIResponseOptions = { ...shared, threadId, runId, from: message === undefined ? "live" : "start" };
    const after = lastEventId(req);
    if (after !== undefined) return pipeAGUIStream(host.join(threadId), cut(res), { ...options, after });
    const waits = message !== undefined || (await host.status(threadId))?.runId === continues;
    const answer = !waits
      ? undefined
      : message !== undefined
        ? await host.start(threadId, { ...run, message })
        : await host.resume(threadId, { ...run, decisions: { ...decisions, ...(results as unknown as typeof decisions) } });
    if (answer?.kind !== "started") return void res.writeHead(409).end("Nothing waits here.");
    await pipeAGUIStream(answer.join(), cut(res), options);
  }

  async function get(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const query = new URL(req.url ?? "", "http://x").searchParams;
    const runId = query.get("runId");
    if (runId !== null) {
      const threadId = runId.slice(0, runId.lastIndexOf("/"));
      return pipeAGUIStream(host.join(threadId), cut(res), { ...shared, threadId, runId, after: lastEventId(req) });
    }
    const thread = toAGUIThread(await host.status(query.get("threadId") ?? ""));
    res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(thread));
  }

  /** Ends the connection in the middle, if the server is told to. */
  function cut(res: ServerResponse): ServerResponse {
    if (page.cutAfter === undefined) return res;
    let left = page.cutAfter;
    const { write } = res;
    res.write = ((text: string) => {
      const events = text.split(/(?<=\n\n)/).slice(0, left);
      left -= events.length;
      if (left > 0) return write.call(res, text, "utf8");
      // An ended connection, also in the middle of the events of one batch.
      if (events.length > 0) write.call(res, events.join(""), "utf8", () => res.destroy());
      return true;
    }) as typeof res.write;
    return res;
  }

  const server = createServer((req, res) => {
    (req.method === "POST" ? post(req, res) : get(req, res)).catch((error: unknown) => {
      if (res.headersSent) return res.destroy();
      if (isRequestError(error)) return res.writeHead(error.status).end(error.message);
      return res.writeHead(isLoopError(error) ? 409 : 500).end(error instanceof Error ? error.message : "");
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const page: PageServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    host,
    requests,
    cutAfter: undefined,
    close: async () => {
      await host.close();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return page;
}

/** An event as it was sent. */
export interface SentEvent {
  readonly id: string | undefined;
  readonly event: { readonly type: string; readonly delta?: string; readonly [field: string]: unknown };
}

/** Reads Server-Sent Events. */
export async function readSent(response: Response): Promise<readonly SentEvent[]> {
  const blocks = (await response.text()).split("\n\n").filter((block) => block.includes("data: "));
  return blocks.map((block) => {
    const lines = block.split("\n");
    const fieldOf = (name: string): string | undefined => lines.find((line) => line.startsWith(name))?.slice(name.length);
    return { id: fieldOf("id: "), event: JSON.parse(fieldOf("data: ") ?? "") as SentEvent["event"] };
  });
}
