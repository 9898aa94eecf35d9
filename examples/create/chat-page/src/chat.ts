// Answers `useChat`: new messages, and decisions about calls that wait.

import type { IncomingMessage, ServerResponse } from "node:http";
import { type Journal, memoryJournal, type Message, type Provider, streamToolLoop } from "turnwright";
import { isRequestError, pipeUIMessageStream, readUIChatRequest } from "turnwright/ui-message-stream";
import { tools } from "./tools.ts";

interface Chat {
  history: readonly Message[];
  /** The last run. If it waits for a decision, it can be continued. */
  run?: { readonly runId: string; readonly journal: Journal; readonly messages: readonly Message[] };
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export function createChatHandler(provider: Provider): Handler {
  // In memory, chats end with the process. Keep them with `createConversation` or `createRunHost` when users depend on them.
  const chats = new Map<string, Chat>();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, message, answers, continues } = await readUIChatRequest(request); // check here that the user may use this chat
    const chat = chats.get(id) ?? { history: [] };
    chats.set(id, chat);
    if (message !== undefined)
      chat.run = { runId: `${id}/${chat.history.length}`, journal: memoryJournal(), messages: [...chat.history, message] };
    // A tab may still show an earlier run. Decisions about that run are refused.
    if (chat.run === undefined || (message === undefined && continues !== chat.run.runId))
      return void response.writeHead(409).end("Nothing waits here.");
    // If the page disconnects, the run stops.
    const stream = streamToolLoop({
      provider,
      tools,
      ...chat.run,
      answers,
      system: "You sell tea.",
      limits: { maxIterations: 10 },
    });
    await pipeUIMessageStream(stream, response, { version: 7, from: message === undefined ? "live" : "start" });
    const { messages, error } = await stream.result;
    chat.history = messages;
    if (error !== undefined) console.error(error); // the page only shows that the run failed
  }

  return (request, response) =>
    answer(request, response).catch((error: unknown) => {
      if (!isRequestError(error)) console.error(error);
      if (!response.headersSent) response.writeHead(isRequestError(error) ? error.status : 500);
      response.end();
    });
}
