// A server on this machine that answers the OpenAI client in place of api.openai.com, so that examples run without a key or a network.

import { LLMock } from "@copilotkit/aimock";

const server = new LLMock({ port: 0, logLevel: "silent" });
server.on({ hasToolResult: false }, { toolCalls: [{ name: "get_time", arguments: { timeZone: "Asia/Tokyo" } }] });
server.on({ hasToolResult: true }, ({ messages }) => {
  const time = messages.at(-1)?.content;
  return { content: typeof time === "string" ? `It is ${time} in Tokyo.` : "I do not know." };
});
await server.start();

// `new OpenAI()` reads these two.
process.env["OPENAI_BASE_URL"] = `${server.url}/v1`;
process.env["OPENAI_API_KEY"] = "not-a-key";

/** Closes the server; open, it keeps the process alive. */
export async function stopStandIn(): Promise<void> {
  await server.stop();
}
