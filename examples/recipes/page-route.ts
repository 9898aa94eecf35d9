// #region route
import { type Message, type Provider, streamToolLoop } from "turnwright";
import { isRequestError, readUIChatRequest, toUIMessageStreamResponse } from "turnwright/ui-message-stream";

const histories = new Map<string, readonly Message[]>(); // in your program: a database

/** POST /api/chat, for a page with `useChat`. Next.js, Hono, Bun, Deno and Workers call it with a web Request. */
export async function answerPage(request: Request, provider: Provider): Promise<Response> {
  try {
    const { id, message } = await readUIChatRequest(request); // check here that the user may use the chat `id`
    if (message === undefined) return new Response("There is no new message.", { status: 400 });
    const messages = [...(histories.get(id) ?? []), message];
    const stream = streamToolLoop({ provider, messages, signal: request.signal });
    // Without the second function, an option that the run refuses would end the process.
    void stream.result.then(
      (result) => histories.set(id, result.messages),
      (error: unknown) => console.error(error),
    );
    return toUIMessageStreamResponse(stream, { version: 7 }); // the major version of `ai` in the page
  } catch (error) {
    if (isRequestError(error)) return new Response(error.message, { status: error.status });
    throw error;
  }
}
// #endregion route
