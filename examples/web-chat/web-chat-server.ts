// Serves the page and the four endpoints of the chat.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isLoopError } from "turnwright";
import { isRequestError } from "turnwright/ui-message-stream";
import type { PageFiles } from "./bundle-page.ts";
import { type Chat, deleteRun, getStream, isChatId, postChat } from "./chat-endpoints.ts";
import { loadChat } from "./load-chat.ts";

export interface WebChat extends Chat {
  readonly files: PageFiles;
}

/**
 * Creates the server. `POST /api/chat` streams an answer. `GET /api/chat/{id}` loads a chat, `GET /api/chat/{id}/stream` joins the run
 * of a chat, and `DELETE /api/chat/{id}/run` stops the run.
 */
export function createWebChatServer(chat: WebChat): Server {
  return createServer((request, response) => {
    route(chat, request, response).catch((error: unknown) => refuse(response, error));
  });
}

/**
 * The allowed values of the header `Host`. If all values were allowed, a page on another site could read the chat with DNS
 * rebinding.
 */
const ownHost = /^(localhost|127\.0\.0\.1)(:\d+)?$/;
const chatPath = /^\/api\/chat\/([^/?]+)(\/stream|\/run)?$/;

async function route(chat: WebChat, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "", url = "/", headers } = request;
  if (!ownHost.test(headers.host ?? "")) return end(response, 403);
  const file = chat.files.get(url.replace(/\?.*/, ""));
  if (method === "GET" && file !== undefined) return sendFile(response, file);
  if (method === "POST" && url === "/api/chat") return postChat(chat, request, response);
  const [, id = "", verb = ""] = chatPath.exec(url) ?? [];
  return routeChat(chat, { id, action: `${method} ${verb}` }, response);
}

async function routeChat(
  chat: WebChat,
  { id, action }: { readonly id: string; readonly action: string },
  response: ServerResponse,
): Promise<void> {
  if (!isChatId(id)) return end(response, 404);
  if (action === "GET ") return sendJson(response, await loadChat(chat.host, id));
  if (action === "GET /stream") return getStream(chat, id, response);
  if (action === "DELETE /run") return deleteRun(chat, id, response);
  end(response, 404);
}

/** Only errors about invalid requests contain a message. Messages of other errors could contain secrets. */
function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  if (isRequestError(error)) return end(response, error.status, error.message);
  if (isLoopError(error, "unknown-decision") || isLoopError(error, "invalid-decision"))
    return end(response, 409, "This call does not wait for this decision.");
  console.error(error);
  end(response, 500);
}

function end(response: ServerResponse, status: number, text?: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(text);
}

function sendJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" }).end(JSON.stringify(value));
}

/** The page loads files only from this server, and other sites cannot show the page in a frame. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'";

function sendFile(response: ServerResponse, { type, body }: { readonly type: string; readonly body: string }): void {
  const headers = { "content-type": type, "content-security-policy": policy, "x-content-type-options": "nosniff" };
  response.writeHead(200, headers).end(body);
}
