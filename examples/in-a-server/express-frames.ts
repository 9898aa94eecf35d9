import { provider, tools } from "./scene.ts";
import { headers, toFrame } from "./to-frame.ts";

// #region send
import express, { type Express, type Request, type Response } from "express";
import { type Message, streamToolLoop } from "turnwright";

async function send(request: Request, response: Response): Promise<void> {
  const { question } = request.body as { question?: unknown };
  if (typeof question !== "string") return void response.status(400).send("There is no question.");
  const page = new AbortController();
  response.on("close", () => page.abort()); // ends the run if the page disconnects
  const messages: Message[] = [{ role: "user", content: question }];
  response.writeHead(200, headers);
  for await (const event of streamToolLoop({ provider, tools, messages, signal: page.signal })) {
    const frame = toFrame(event);
    if (frame !== undefined) response.write(frame);
  }
  response.end();
}

export const app: Express = express();
app.post("/ask", express.json(), (request, response, next) => {
  send(request, response).catch(next);
});
// #endregion send
