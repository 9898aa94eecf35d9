// A chat over Server-Sent Events with node:http alone. A run lives as long as the tab that asked for it, and is no faster than the
// tab reads.

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { z } from "zod";
import { type LoopEvent, type LoopResult, type Message, type Provider, streamToolLoop, type Tool } from "turnwright";

/** What the server chats with. */
export interface ChatOptions {
  readonly provider: Provider;
  readonly tools: readonly Tool[];
  /** Told of every run that has ended. */
  onEnd?(result: LoopResult): void;
}

type Chat = (conversation: string, question: string, response: ServerResponse) => Promise<void>;

/** Makes the server: `GET /` is the page, `POST /chat/{conversation}` with `{ "question": "…" }` streams the answer. */
export function createChatServer({ provider, tools, onEnd }: ChatOptions): Server {
  const conversations = new Map<string, readonly Message[]>();

  // #region chat
  const chat: Chat = async (conversation, question, response) => {
    const tab = new AbortController();
    response.on("close", () => tab.abort(new Error("The tab was closed.")));
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });

    const messages: readonly Message[] = [...(conversations.get(conversation) ?? []), { role: "user", content: question }];
    const stream = streamToolLoop({ provider, tools, messages, signal: tab.signal });
    for await (const event of stream) {
      const shown = toShown(event);
      if (shown === undefined || tab.signal.aborted) continue;
      const hasRoom = response.write(`data: ${JSON.stringify(shown)}\n\n`);
      // Until the tab has caught up no event is taken, and so no more is read from the model.
      if (!hasRoom) await once(response, "drain", { signal: tab.signal }).catch(() => {});
    }
    response.end();

    // However the run ended, its transcript can be sent as it is: the next question goes on from there.
    const result = await stream.result;
    conversations.set(conversation, result.messages);
    onEnd?.(result);
  };
  // #endregion chat

  return createServer((request, response) => {
    route(request, response, chat).catch(() => endEmpty(response, 500));
  });
}

/** What the page is told; arguments, results and errors stay on the server. */
function toShown(event: LoopEvent): object | undefined {
  const { type } = event;
  if (type === "text-delta") return { type, text: event.text };
  if (type === "tool-start") return { type, name: event.name };
  if (type === "tool-end") return { type, name: event.name, outcome: event.outcome };
  if (type === "run-end") return { type, status: event.status, reason: event.reason.kind };
  return undefined;
}

async function route(request: IncomingMessage, response: ServerResponse, chat: Chat): Promise<void> {
  const { method, url = "" } = request;
  if (method === "GET" && url === "/") {
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.end(await readFile(new URL("index.html", import.meta.url)));
    return;
  }
  if (method === "GET" && url === "/favicon.ico") return endEmpty(response, 204);
  const conversation = /^\/chat\/([\w-]{1,64})$/.exec(url)?.[1];
  if (method !== "POST" || conversation === undefined) return endEmpty(response, 404);
  const question = await readQuestion(request);
  if (question === undefined) return endEmpty(response, 400);
  await chat(conversation, question, response);
}

const maxBodyBytes = 16_384;
const questionSchema = z.object({ question: z.string().trim().min(1) });

/** The question in the body; undefined where there is none. Other sites' forms cannot send JSON, and so cannot ask. */
async function readQuestion(request: IncomingMessage): Promise<string | undefined> {
  const [mediaType = ""] = (request.headers["content-type"] ?? "").split(";");
  if (mediaType.trim().toLowerCase() !== "application/json") return undefined;
  let body = "";
  for await (const piece of request.setEncoding("utf8")) {
    body += String(piece);
    if (body.length > maxBodyBytes) return undefined;
  }
  try {
    return questionSchema.parse(JSON.parse(body)).question;
  } catch {
    return undefined;
  }
}

/** Ends a response that has no body. */
function endEmpty(response: ServerResponse, status: number): void {
  if (!response.headersSent) response.writeHead(status);
  response.end();
}
