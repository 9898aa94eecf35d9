// Serves a page with the workers and their runs. The page can start and kill workers.

import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { FollowedTrips } from "./followed-trips.ts";
import type { WorkerProcesses } from "./worker-processes.ts";

export interface Shown {
  readonly workers: WorkerProcesses;
  readonly trips: FollowedTrips;
}

const cities = ["Oslo", "Bergen", "Narvik", "Bodø", "Voss", "Trondheim"];

/** The allowed values of `Host`. With other values, another site could read the page by DNS rebinding. */
const ownHost = /^(localhost|127\.0\.0\.1)(:\d+)?$/;
const policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";

export function createWorkerPage(shown: Shown): Server {
  return createServer((request, response) => {
    answer(shown, request, response).catch((error: unknown) => {
      console.error(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
}

async function answer(shown: Shown, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "", url = "", headers } = request;
  // Another site must not kill workers, so only this page may send a POST.
  const isOwn = headers.origin === undefined || headers.origin === `http://${headers.host}`;
  if (!ownHost.test(headers.host ?? "") || !isOwn) return void response.writeHead(403).end();
  if (method === "GET" && url === "/") return sendPage(response);
  if (method === "GET" && url === "/state") return sendState(shown, response);
  const status = method === "POST" ? await act(shown, url) : 404;
  response.writeHead(status).end();
}

async function sendPage(response: ServerResponse): Promise<void> {
  const page = await readFile(new URL("page.html", import.meta.url));
  response.writeHead(200, { "content-type": "text/html; charset=utf-8", "content-security-policy": policy }).end(page);
}

function sendState({ workers, trips }: Shown, response: ServerResponse): void {
  const state = JSON.stringify({ workers: workers.ids, trips: trips.all });
  response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" }).end(state);
}

/** Returns the HTTP status. */
async function act({ workers, trips }: Shown, path: string): Promise<number> {
  const [, pid] = /^\/workers\/(\d+)\/kill$/.exec(path) ?? [];
  if (pid !== undefined) return workers.kill(Number(pid)) ? 202 : 404;
  if (path === "/workers") await workers.start();
  else if (path === "/trips") {
    const city = cities[trips.all.length % cities.length] ?? "Oslo";
    await trips.start({ city, legs: 12, paceMs: 1_000 });
  } else return 404;
  return 201;
}
