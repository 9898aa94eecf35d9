// With `--serve`, starts the chat server. Otherwise, checks the server.

import { z } from "zod";
import { defineTool } from "turnwright";
import { fileConversationStore } from "turnwright/conversation";
import { providerFromEnvironment } from "../support/provider-from-environment.ts";
import { createChatServer } from "./chat-server.ts";
import { checkChatServer } from "./check-chat-server.ts";
import { createScriptedHost } from "./scripted-host.ts";

const getTime = defineTool({
  name: "get_time",
  description: "Time of day in a time zone, such as Europe/Oslo",
  inputSchema: z.object({ timeZone: z.string().optional() }),
  execute: ({ timeZone }) => new Date().toLocaleTimeString("en-GB", { timeZone }),
});

if (process.argv.includes("--serve")) {
  const model = providerFromEnvironment();
  const server = createChatServer({
    provider: model ?? createScriptedHost(),
    tools: [getTime],
    store: fileConversationStore(".cache/chat-server"),
    onEnd: ({ status, reason, usage }) => console.log(status, reason.kind, `${usage.totalTokens} tokens`),
  });
  const port = Number(process.env["PORT"] ?? 8080);
  const answering = model === undefined ? "a script answers, for no key is set" : `${model.model} answers`;
  server.on("error", ({ message }) => {
    console.error(`Port ${port} cannot be used (${message}). PORT=8081 names another.`);
    process.exitCode = 1;
  });
  server.listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port} · ${answering} · Ctrl-C stops`));
} else {
  await checkChatServer([getTime]);
}
