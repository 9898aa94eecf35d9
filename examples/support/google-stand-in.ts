// A local server that replaces the Gemini API. Examples with the Google client then need neither a key nor a network.

import { LLMock } from "@copilotkit/aimock";

const server = new LLMock({ port: 0, logLevel: "silent" });
server.on({}, ({ messages }) =>
  messages.at(-1)?.role === "tool"
    ? { content: "Take a coat." }
    : { toolCalls: [{ name: "get_weather", arguments: JSON.stringify({ city: "Oslo" }) }], finishReason: "stop" },
);
await server.start();

// `new GoogleGenAI()` reads these two variables.
process.env["GOOGLE_GEMINI_BASE_URL"] = server.url;
process.env["GEMINI_API_KEY"] = "not-a-key";

/** Closes the server. The process cannot end while the server is open. */
export async function stopStandIn(): Promise<void> {
  await server.stop();
}
