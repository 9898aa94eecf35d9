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

/** The allowed values of `Host`. Otherwise, another site could read the page with DNS rebinding. */
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
  // Another site must not kill workers, so a POST must come from this page.
  const isOwn = headers.origin === undefined || headers.origin === `http://${headers.host}`;
  if (!ownHost.test(headers.host ?? "") || !isOwn) return end(response, 403);
  if (method === "GET" && url === "/") {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8", "content-security-policy": policy });
    return void response.end(await readFile(new URL("page.html", import.meta.url)));
  }
  if (method === "GET" && url === "/state") {
    response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" });
    return void response.end(JSON.stringify({ workers: shown.workers.ids, trips: shown.trips.all }));
  }
  const [, pid] = /^\/workers\/(\d+)\/kill$/.exec(url) ?? [];
  if (method === "POST" && pid !== undefined) return end(response, shown.workers.kill(Number(pid)) ? 202 : 404);
  if (method === "POST" && url === "/workers") {
    await shown.workers.start();
    return end(response, 201);
  }
  if (method === "POST" && url === "/trips") {
    const city = cities[shown.trips.all.length % cities.length] ?? "Oslo";
    await shown.trips.start({ city, legs: 12, paceMs: 1_000 });
    return end(response, 201);
  }
  end(response, 404);
}

function end(response: ServerResponse, status: number): void {
  response.writeHead(status).end();
}
