// A local HTTP server through which AG-UI clients start and follow runs.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isLoopError } from "turnwright";
import { type AGUIRequest, isRequestError, pipeAGUIStream, readAGUIRequest, toAGUIThread } from "turnwright/ag-ui";
import type { AGUIResponseOptions } from "../../src/ag-ui/ag-ui-options.ts";
import type { AGUIVersion } from "../../src/ag-ui/ag-ui-event.ts";
import type { ConversationStore } from "turnwright/conversation";
import {
  createRunHost,
  type HostedLoopOptions,
  lastEventId,
  type ResumeAnswer,
  type RunHost,
  type StartAnswer,
} from "turnwright/host";

interface ServerOptions {
  readonly run: HostedLoopOptions;
  readonly version: AGUIVersion;
  readonly store?: ConversationStore | undefined;
}

export class PageServer {
  readonly host: RunHost;
  readonly requests: AGUIRequest[] = [];
  /** If set, closes each connection after this number of events. */
  cutAfter: number | undefined;
  readonly #options: ServerOptions;
  readonly #server = createServer((req, res) => void this.#answer(req, res));

  constructor(options: ServerOptions) {
    this.#options = options;
    this.host = createRunHost({ store: options.store });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  listen(): Promise<void> {
    return new Promise((ready) => void this.#server.listen(0, "127.0.0.1", ready));
  }

  async close(): Promise<void> {
    await this.host.close();
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      await (req.method === "POST" ? this.#post(req, res) : this.#get(req, res));
    } catch (error) {
      if (res.headersSent) res.destroy();
      else if (isRequestError(error)) res.writeHead(error.status).end(error.message);
      else res.writeHead(isLoopError(error) ? 409 : 500).end(error instanceof Error ? error.message : "");
    }
  }

  get #shared(): AGUIResponseOptions {
    return { version: this.#options.version, keepAliveMs: Infinity };
  }

  async #post(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const request = await readAGUIRequest(req);
    this.requests.push(request);
    const { threadId, runId, message } = request;
    const from = message === undefined ? "live" : "start";
    const options: AGUIResponseOptions = { ...this.#shared, threadId, runId, from };
    const after = lastEventId(req);
    if (after !== undefined) return pipeAGUIStream(this.host.join(threadId), this.#cut(res), { ...options, after });
    const answer = await this.#run(request);
    if (answer?.kind !== "started") return void res.writeHead(409).end("Nothing waits here.");
    await pipeAGUIStream(answer.join(), this.#cut(res), options);
  }

  async #run({ threadId, message, continues, answers }: AGUIRequest): Promise<StartAnswer | ResumeAnswer | undefined> {
    const { run } = this.#options;
    if (message !== undefined) return this.host.start(threadId, { ...run, message });
    if ((await this.host.status(threadId))?.runId !== continues) return undefined;
    return this.host.resume(threadId, { ...run, answers });
  }

  /** Resumes the last run of a thread with decisions from outside the page, as a webhook does. */
  async deliver(threadId: string, decisions: HostedLoopOptions["answers"]): Promise<void> {
    const answer = await this.host.resume(threadId, { ...this.#options.run, answers: decisions });
    if (answer.kind === "started") await answer.result;
  }

  async #get(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const query = new URL(req.url ?? "", "http://x").searchParams;
    const runId = query.get("runId");
    if (runId !== null) {
      const threadId = runId.slice(0, runId.lastIndexOf("/"));
      const options = { ...this.#shared, threadId, runId, after: lastEventId(req) };
      return pipeAGUIStream(this.host.join(threadId), this.#cut(res), options);
    }
    const thread = toAGUIThread(await this.host.status(query.get("threadId") ?? ""));
    res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(thread));
  }

  #cut(res: ServerResponse): ServerResponse {
    if (this.cutAfter === undefined) return res;
    let left = this.cutAfter;
    const { write } = res;
    res.write = ((text: string) => {
      const events = text.split(/(?<=\n\n)/).slice(0, left);
      left -= events.length;
      if (left > 0) return write.call(res, text, "utf8");
      // One write may contain several events, so the connection may be closed in the middle of a write.
      if (events.length > 0) write.call(res, events.join(""), "utf8", () => res.destroy());
      return true;
    }) as typeof res.write;
    return res;
  }
}

export async function serve(options: ServerOptions): Promise<PageServer> {
  const server = new PageServer(options);
  await server.listen();
  return server;
}

export interface SentEvent {
  readonly id: string | undefined;
  readonly event: { readonly type: string; readonly delta?: string; readonly [field: string]: unknown };
}

export async function readSent(response: Response): Promise<readonly SentEvent[]> {
  const blocks = (await response.text()).split("\n\n").filter((block) => block.includes("data: "));
  return blocks.map((block) => {
    const lines = block.split("\n");
    const fieldOf = (name: string): string | undefined => lines.find((line) => line.startsWith(name))?.slice(name.length);
    return { id: fieldOf("id: "), event: JSON.parse(fieldOf("data: ") ?? "") as SentEvent["event"] };
  });
}
