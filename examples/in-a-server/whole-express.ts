// server.ts
import express, { type Express, type Request, type Response } from "express";
import OpenAI from "openai";
import { z } from "zod";
import { defineTool, type Message, streamToolLoop } from "turnwright";
import { openaiChat } from "turnwright/openai";
import { isRequestError, pipeUIMessageStream, readUIChatRequest } from "turnwright/ui-message-stream";

const provider = openaiChat({ client: new OpenAI(), model: "gpt-5-mini" }); // reads OPENAI_API_KEY from the environment
const getTime = defineTool({
  name: "get_time",
  description: "Time of day in a time zone, such as Europe/Oslo",
  inputSchema: z.object({ timeZone: z.string() }),
  execute: ({ timeZone }) => new Date().toLocaleTimeString("en-GB", { timeZone }),
});
const tools = [getTime];

const histories = new Map<string, readonly Message[]>(); // in your program: a database

async function answer(request: Request, response: Response): Promise<void> {
  const { id, message, trigger } = await readUIChatRequest(request); // check here that the user may use the chat `id`
  if (message === undefined || trigger !== "submit") return void response.status(400).send("There is no new message.");
  const stream = streamToolLoop({ provider, tools, messages: [...(histories.get(id) ?? []), message] });
  await pipeUIMessageStream(stream, response, { version: 7 }); // stops the run if the page disconnects
  const result = await stream.result;
  histories.set(id, result.messages);
  if (result.error !== undefined) console.error(result.error); // the page only shows that the run failed
}

export const app: Express = express();
app.post("/api/chat", (request, response, next) => {
  answer(request, response).catch((error: unknown) => {
    if (isRequestError(error)) response.status(error.status).send(error.message);
    else next(error);
  });
});
