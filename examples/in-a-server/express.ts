import { provider, tools } from "./scene.ts";
import { headers, toFrame } from "./to-frame.ts";

// #region express
import { once } from "node:events";
import express, { type Express, type Request, type Response } from "express";
import { streamToolLoop } from "turnwright";

export const app: Express = express().use(express.json({ limit: "16kb" }));
app.post("/chat", (request, response, next) => void answer(request, response).catch(next));

async function answer(request: Request, response: Response): Promise<void> {
  const { question }: { question?: unknown } = request.body ?? {};
  if (typeof question !== "string" || question === "") return void response.sendStatus(400);
  const client = new AbortController();
  response.on("close", () => client.abort(new Error("The client went away.")));
  response.writeHead(200, headers);
  const messages = [{ role: "user" as const, content: question }];
  for await (const event of streamToolLoop({ provider, tools, messages, signal: client.signal })) {
    const frame = toFrame(event);
    if (frame === undefined || client.signal.aborted || response.write(frame)) continue;
    await once(response, "drain", { signal: client.signal }).catch(() => {}); // a slow client slows the model down
  }
  response.end();
}
// #endregion express
