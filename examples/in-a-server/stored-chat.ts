// The route of chat.ts with a store, for servers whose requests do not share their memory.

import { createConversation, memoryConversationStore } from "turnwright/conversation";
import { isRequestError, readUIChatRequest, toUIMessageStreamResponse } from "turnwright/ui-message-stream";
import { provider, tools } from "./scene.ts";

const store = memoryConversationStore();

export async function answer(request: Request, waitUntil?: (work: Promise<unknown>) => void): Promise<Response> {
  try {
    const { id, message } = await readUIChatRequest(request);
    if (message === undefined) return new Response("There is no new message.", { status: 400 });
    // #region stored
    const chat = createConversation({ id, store, journal: store.journal, options: { provider, tools } });
    const stream = chat.stream(message, { signal: request.signal });
    const stored = stream.result.then(({ error }) => {
      if (error !== undefined) console.error(error);
    }, console.error);
    waitUntil?.(stored);
    return toUIMessageStreamResponse(stream, { version: 7 });
    // #endregion stored
  } catch (error) {
    if (isRequestError(error)) return new Response(error.message, { status: error.status });
    throw error;
  }
}
