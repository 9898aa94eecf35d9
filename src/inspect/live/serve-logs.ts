// Serves a web page and its logs on this machine. Only people who know the URL can read them.

import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { followSignal } from "../../shared/signals.ts";
import { logIdHeader, type PageLog } from "../page/page-data.ts";
import { renderLivePage } from "../page/render-run-page.ts";
import { ChangeWatch, followFile, lookAtLog, waitForLog } from "./follow-file.ts";

export interface ServedLog {
  readonly name: string;
  /** The path of a log that may grow. */
  readonly path?: string | undefined;
  /** The text of a log that does not grow. It is sent instead of the file. */
  readonly text?: string | undefined;
}

interface ServeOptions {
  /**
   * Returns the logs. Called again when the folder changes. Must return known logs at the same positions, and new logs after them.
   */
  list(): Promise<readonly ServedLog[]>;
  /** The folder in which new logs may appear. Default: the list does not change. */
  readonly folder?: string | undefined;
  readonly port?: number | undefined;
}

export interface LogServer {
  readonly url: string;
  close(): Promise<void>;
}

/** The server's address, which other machines cannot reach. */
const host = "127.0.0.1";

/**
 * Starts a server for a web page and its logs. It answers GET requests from this machine that have the token in their path. Rejects with
 * network errors, such as EADDRINUSE.
 */
export async function serveLogs(options: ServeOptions): Promise<LogServer> {
  const handler = new LogHandler(options);
  await handler.refresh();
  const server = createServer((request, response) => void handler.answer(request, response));
  server.listen(options.port ?? 0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  handler.port = port;
  return { url: `http://${host}:${port}/${handler.token}/`, close: () => closeServer(server, handler) };
}

async function closeServer(server: Server, handler: LogHandler): Promise<void> {
  handler.stop.abort();
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}

class LogHandler {
  readonly token: string = randomBytes(24).toString("base64url");
  readonly stop: AbortController = new AbortController();
  port = 0;
  readonly #options: ServeOptions;
  #logs: readonly ServedLog[] = [];

  constructor(options: ServeOptions) {
    this.#options = options;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const open = followSignal(this.stop.signal);
    response.once("close", () => open.abort());
    try {
      await this.#answer(request, response, open.signal);
    } catch {
      // The file was removed or the connection was closed. The page repeats its request.
      if (response.headersSent) response.destroy();
      else end(response, 500);
    } finally {
      open.release();
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    // Refuses other host names, because a website could point its own domain name at this address, and its pages could then read the logs.
    const hosts = [`${host}:${this.port}`, `localhost:${this.port}`];
    if (!hosts.includes(request.headers.host ?? "")) return end(response, 403);
    // Splits the target by hand, because targets such as "//" are not valid URLs.
    const [path = "", query] = (request.url ?? "").split("?", 2);
    const [, token = "", ...rest] = path.split("/");
    if (!isSame(token, this.token)) return end(response, 404);
    if (request.method !== "GET") return end(response, 405);
    const wanted = new URLSearchParams(query);
    const start = { from: Number(wanted.get("from")), id: wanted.get("id") ?? undefined, signal };
    return this.#send(response, rest.join("/"), start);
  }

  async #send(response: ServerResponse, place: string, start: Start): Promise<void> {
    const { from } = start;
    if (place === "") return this.#sendPage(response);
    if (!Number.isSafeInteger(from) || from < 0) return end(response, 400);
    if (place === "logs") return this.#sendList(response, start);
    const log = /^log\/\d+$/.test(place) ? this.#logs[Number(place.slice("log/".length))] : undefined;
    return log === undefined ? end(response, 404) : this.#sendLog(response, log, start);
  }

  /** Reads the list of logs again. A log's URL contains its position in the list. */
  async refresh(): Promise<readonly PageLog[]> {
    this.#logs = await this.#options.list();
    return this.#logs.map(({ name }, index) => ({ name, url: `log/${index}` }));
  }

  async #sendPage(response: ServerResponse): Promise<void> {
    const isFolder = this.#options.folder !== undefined;
    const page = await renderLivePage(await this.refresh(), isFolder ? "logs" : undefined);
    const policy = /http-equiv="Content-Security-Policy"\s+content="([^"]*)"/.exec(page)?.[1] ?? "default-src 'none'";
    response.setHeader("Content-Security-Policy", `${policy}; frame-ancestors 'none'`);
    response.setHeader("Content-Type", "text/html; charset=utf-8");
    response.end(page);
  }

  /** Sends one JSON line for each log, starting at position `from`. Keeps the response open, and sends logs that appear later. */
  async #sendList(response: ServerResponse, { from, signal }: Start): Promise<void> {
    const { folder } = this.#options;
    if (folder === undefined) return end(response, 404);
    const changes = new ChangeWatch(folder, signal);
    response.setHeader("Content-Type", ndjson);
    response.flushHeaders();
    try {
      let sent = from;
      do {
        const logs = await this.refresh();
        const lines = logs.slice(sent).map((log) => `${JSON.stringify(log)}\n`);
        sent = Math.max(sent, logs.length);
        if (lines.length > 0) response.write(lines.join(""));
      } while (await changes.next());
    } finally {
      changes.close();
      response.end();
    }
  }

  async #sendLog(response: ServerResponse, { path, text }: ServedLog, start: Start): Promise<void> {
    response.setHeader("Content-Type", ndjson);
    // Keeps the response open even for text that cannot grow, because the page would otherwise request the text again and again.
    if (path === undefined || text !== undefined) await sendText(response, text ?? "", start);
    else await sendFile(response, path, start);
    response.end();
  }
}

/** The position from which the web page wants to continue reading a log. */
interface Start {
  readonly from: number;
  readonly id: string | undefined;
  /** Fires when the response or the server is closed. */
  readonly signal: AbortSignal;
}

async function sendFile(response: ServerResponse, path: string, { from, id, signal }: Start): Promise<void> {
  const seen = await lookAtLog(path);
  const isOther = seen === undefined ? from > 0 : from > seen.size || (id !== undefined && id !== seen.id);
  if (isOther) return end(response, 409);
  if (seen !== undefined) response.setHeader(logIdHeader, seen.id);
  response.flushHeaders();
  // Ends the response once a log exists. The page then repeats its request and gets the log's id.
  if (seen === undefined) return waitForLog(path, signal);
  for await (const bytes of followFile(path, { from, id: seen.id, signal }))
    if (!response.write(bytes)) await once(response, "drain", { signal });
}

const ndjson = "application/x-ndjson; charset=utf-8";

async function sendText(response: ServerResponse, text: string, { from, signal }: Start): Promise<void> {
  response.flushHeaders();
  response.write(Buffer.from(text).subarray(from));
  if (!signal.aborted) await once(signal, "abort");
}

const headers: { readonly [name: string]: string } = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

/** Ends a response without a body, because the web page would read a body as part of a log. */
function end(response: ServerResponse, status: number): void {
  response.statusCode = status;
  response.end();
}

function isSame(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}
