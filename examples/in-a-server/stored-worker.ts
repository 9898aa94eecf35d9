// worker.ts
import OpenAI from "openai";
import { Pool } from "pg";
import { z } from "zod";
import { defineTool } from "turnwright";
import { createConversation, postgresConversationStore } from "turnwright/conversation";
import { openaiChat } from "turnwright/openai";
import { isRequestError, readUIChatRequest, toUIMessageStreamResponse } from "turnwright/ui-message-stream";

interface Env {
  readonly HYPERDRIVE: { readonly connectionString: string };
}

interface Context {
  waitUntil(work: Promise<unknown>): void;
}

const provider = openaiChat({ client: new OpenAI(), model: "gpt-5-mini" }); // reads OPENAI_API_KEY, by `nodejs_compat`
const getTime = defineTool({
  name: "get_time",
  description: "Time of day in a time zone, such as Europe/Oslo",
  inputSchema: z.object({ timeZone: z.string() }),
  execute: ({ timeZone }) => new Date().toLocaleTimeString("en-GB", { timeZone }),
});

async function answer(request: Request, env: Env, context: Context): Promise<Response> {
  const { id, message, trigger } = await readUIChatRequest(request); // check here that the user may use the chat `id`
  if (message === undefined || trigger !== "submit") return new Response("There is no new message.", { status: 400 });
  const pool = new Pool({ connectionString: env.HYPERDRIVE.connectionString, max: 5 }); // one for each request
  pool.on("error", () => {}); // a connection that Workers close with the request; each query reports its own errors
  const store = postgresConversationStore(pool); // creates its tables
  const chat = createConversation({ id, store, journal: store.journal, options: { provider, tools: [getTime] } });
  if ((await chat.status())?.isLive === true) {
    context.waitUntil(pool.end());
    return new Response("Wait for the answer, please.", { status: 409 });
  }
  const stream = chat.stream(message, { signal: request.signal });
  const stored = stream.result.then(({ error }) => {
    if (error !== undefined) console.error(error);
  }, console.error);
  context.waitUntil(stored.then(() => pool.end()));
  return toUIMessageStreamResponse(stream, { version: 7 }); // the major version of `ai` in the page
}

/** POST /api/chat, for a page with `useChat`. */
export default {
  async fetch(request: Request, env: Env, context: Context): Promise<Response> {
    const isChat = request.method === "POST" && new URL(request.url).pathname === "/api/chat";
    if (!isChat) return new Response("Not found", { status: 404 });
    try {
      return await answer(request, env, context);
    } catch (error) {
      if (isRequestError(error)) return new Response(error.message, { status: error.status });
      throw error;
    }
  },
};
