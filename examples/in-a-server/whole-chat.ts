// chat.ts
import OpenAI from "openai";
import { z } from "zod";
import { defineTool, type Message, streamToolLoop } from "turnwright";
import { openaiChat } from "turnwright/openai";
import { isRequestError, readUIChatRequest, toUIMessageStreamResponse } from "turnwright/ui-message-stream";

const provider = openaiChat({ client: new OpenAI(), model: "gpt-5-mini" }); // reads OPENAI_API_KEY from the environment
const getTime = defineTool({
  name: "get_time",
  description: "Time of day in a time zone, such as Europe/Oslo",
  inputSchema: z.object({ timeZone: z.string() }),
  execute: ({ timeZone }) => new Date().toLocaleTimeString("en-GB", { timeZone }),
});
const tools = [getTime];

const histories = new Map<string, readonly Message[]>(); // in your program: a database

/** POST /api/chat, for a page with `useChat`. Platforms that end a request with its response pass their `waitUntil`. */
export async function answer(request: Request, waitUntil?: (work: Promise<unknown>) => void): Promise<Response> {
  try {
    const { id, message, trigger } = await readUIChatRequest(request); // check here that the user may use the chat `id`
    if (message === undefined || trigger !== "submit") return new Response("There is no new message.", { status: 400 });
    const messages = [...(histories.get(id) ?? []), message];
    const stream = streamToolLoop({ provider, tools, messages, signal: request.signal });
    const stored = stream.result.then((result) => {
      histories.set(id, result.messages);
      if (result.error !== undefined) console.error(result.error); // a run that failed does not reject
    }, console.error);
    waitUntil?.(stored);
    return toUIMessageStreamResponse(stream, { version: 7 }); // the major version of `ai` in the page
  } catch (error) {
    if (isRequestError(error)) return new Response(error.message, { status: error.status });
    throw error;
  }
}
