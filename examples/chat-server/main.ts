// Serves the chat with `--serve`; without it, checks the server and ends.

import { z } from "zod";
import { defineTool } from "turnwright";
import { createMockProvider, text, toolCall, wait } from "turnwright/testing";
import { openaiFromEnvironment } from "../support/openai-from-environment.ts";
import { createChatServer } from "./chat-server.ts";
import { checkChatServer } from "./check-chat-server.ts";

const getTime = defineTool({
  name: "get_time",
  description: "Time of day in a time zone, such as Europe/Oslo",
  inputSchema: z.object({ timeZone: z.string().optional() }),
  execute: ({ timeZone }) => new Date().toLocaleTimeString("en-GB", { timeZone }),
});

/** Without a key a script answers: it asks for the time, and then says what it is. */
const script = createMockProvider(({ messages }) => {
  const last = messages.at(-1);
  if (last?.role !== "tool") return toolCall("get_time");
  const time = JSON.stringify(last.results[0]?.result);
  const answer = `It is ${time} here. More I cannot tell, for I am a script: start me with OPENAI_API_KEY set, and a model answers.`;
  return answer.split(/(?= )/).flatMap((word) => [wait(80), text(word)]);
});

if (process.argv.includes("--serve")) {
  const provider = openaiFromEnvironment() ?? script;
  const server = createChatServer({
    provider,
    tools: [getTime],
    onEnd: ({ status, reason, usage }) => console.log(status, reason.kind, `${usage.totalTokens} tokens`),
  });
  const port = Number(process.env["PORT"] ?? 8080);
  const answering = provider === script ? "a script answers, for OPENAI_API_KEY is not set" : `${provider.model} answers`;
  server.on("error", ({ message }) => {
    console.error(`Port ${port} cannot be used (${message}). PORT=8081 names another.`);
    process.exitCode = 1;
  });
  server.listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port} · ${answering} · Ctrl-C stops`));
} else {
  await checkChatServer([getTime]);
}
