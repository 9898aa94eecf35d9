// A local server that replaces api.anthropic.com. Examples with the Anthropic client then need neither a key nor a network.

import { LLMock } from "@copilotkit/aimock";

const server = new LLMock({ port: 0, logLevel: "silent" });
server.on({}, ({ messages }) =>
  messages.at(-1)?.role === "tool"
    ? { content: "It is late in Tokyo.", reasoning: "At night, people sleep." }
    : { toolCalls: [{ name: "get_time", arguments: JSON.stringify({ timeZone: "Asia/Tokyo" }) }] },
);
await server.start();

// `new Anthropic()` reads these two variables.
process.env["ANTHROPIC_BASE_URL"] = server.url;
process.env["ANTHROPIC_API_KEY"] = "not-a-key";

/** Closes the server. The process cannot end while the server is open. */
export async function stopStandIn(): Promise<void> {
  await server.stop();
}
