// A chat over Server-Sent Events, built only with node:http. While an answer is streamed, users can send follow-ups, steer the
// run, or stop it. When the tab that started a run is closed, the run ends.

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { z } from "zod";
import { type ChatPorts, type LiveChat, openChat } from "./conversation.ts";

/**
 * Makes the server. `GET /` returns the page. All other requests are `POST` requests with the body `{ "text": "…" }`.
 * `/chat/{conversation}` streams an answer (status 200). While an answer is streamed, it adds a follow-up instead (202).
 * `/chat/{conversation}/steer` and `/chat/{conversation}/stop` steer or stop the run (202). Without a live run, they return 409.
 */
export function createChatServer(ports: ChatPorts): Server {
  const live = new Map<string, LiveChat>();
  return createServer((request, response) => {
    route({ request, response, ports, live }).catch(() => endEmpty(response, 500));
  });
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly ports: ChatPorts;
  /** The chats whose answers are being written, by conversation id. All other chats are only in the store. */
  readonly live: Map<string, LiveChat>;
}

/**
 * The allowed values of the header `Host`. If all values were allowed, a page on another site could read the answers with DNS
 * rebinding.
 */
const ownHost = /^(localhost|127\.0\.0\.1)(:\d+)?$/;
const chatPath = /^\/chat\/([\w-]{1,64})(?:\/(steer|stop))?$/;

async function route(exchange: Exchange): Promise<void> {
  const { request, response } = exchange;
  const { method, url = "", headers } = request;
  if (!ownHost.test(headers.host ?? "")) return endEmpty(response, 403);
  const [, id, verb] = chatPath.exec(url) ?? [];
  if (method === "POST" && id !== undefined) return converse(exchange, id, verb);
  if (method === "GET" && url === "/") return sendPage(response);
  endEmpty(response, method === "GET" && url === "/favicon.ico" ? 204 : 404);
}

async function converse({ request, response, ports, live }: Exchange, id: string, verb: string | undefined): Promise<void> {
  const text = await readText(request);
  if (text === undefined || (text === "" && verb !== "stop")) return endEmpty(response, 400);
  const chat = live.get(id);
  if (chat === undefined) {
    if (verb !== undefined) return endEmpty(response, 409);
    const opened = openChat(id, ports);
    live.set(id, opened);
    return streamAnswer(response, (send, signal) => opened.answer(text, { send, signal })).finally(() => live.delete(id));
  }
  if (verb === "stop") chat.stop();
  else if (verb === "steer") chat.steer(text);
  else chat.followUp(text);
  endEmpty(response, 202);
}

type Answering = (send: (event: object) => Promise<void>, signal: AbortSignal) => Promise<void>;

async function streamAnswer(response: ServerResponse, answer: Answering): Promise<void> {
  const tab = new AbortController();
  response.on("close", () => tab.abort(new Error("The tab was closed.")));
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  const send = async (event: object): Promise<void> => {
    if (tab.signal.aborted || response.write(`data: ${JSON.stringify(event)}\n\n`)) return;
    // If the tab reads slowly, this line waits, and the run stops reading from the model.
    await once(response, "drain", { signal: tab.signal }).catch(() => {});
  };
  await answer(send, tab.signal);
  response.end();
}

async function sendPage(response: ServerResponse): Promise<void> {
  response.setHeader("content-type", "text/html; charset=utf-8");
  // The page may load only its own script and style, and other sites cannot show it in a frame.
  response.setHeader(
    "content-security-policy",
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'",
  );
  response.end(await readFile(new URL("index.html", import.meta.url)));
}

const maxBodyLength = 16_384;
const bodySchema = z.object({ text: z.string().trim().max(2_000) });

/** Returns undefined if the body is invalid. Accepts only JSON, because forms on other sites cannot send JSON. */
async function readText(request: IncomingMessage): Promise<string | undefined> {
  const [mediaType = ""] = (request.headers["content-type"] ?? "").split(";");
  if (mediaType.trim().toLowerCase() !== "application/json") return undefined;
  let body = "";
  for await (const piece of request.setEncoding("utf8")) {
    body += String(piece);
    if (body.length > maxBodyLength) return undefined;
  }
  try {
    return bodySchema.parse(JSON.parse(body)).text;
  } catch {
    return undefined;
  }
}

function endEmpty(response: ServerResponse, status: number): void {
  if (!response.headersSent) response.writeHead(status);
  response.end();
}
