// A local server that replaces the Gemini API. Examples with the Google client then need neither a key nor a network.

import { createServer, request as send } from "node:http";
import { LLMock } from "@copilotkit/aimock";

const server = new LLMock({ port: 0, logLevel: "silent" });
server.on({}, ({ messages }) =>
  messages.at(-1)?.role === "tool"
    ? { content: "Take a coat." }
    : { toolCalls: [{ name: "get_weather", arguments: JSON.stringify({ city: "Oslo" }) }], finishReason: "stop" },
);
await server.start();

// The client calls the API version v1, and the mock knows only v1beta.
const front = createServer((request, response) => {
  const url = `${server.url}${request.url?.replace(/^\/v1\//, "/v1beta/")}`;
  const forwarded = send(url, { method: request.method, headers: request.headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  request.pipe(forwarded);
});
await new Promise<void>((resolve) => void front.listen(0, "127.0.0.1", resolve));
const address = front.address();

// `new GoogleGenAI()` reads these two variables.
process.env["GOOGLE_GEMINI_BASE_URL"] = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
process.env["GEMINI_API_KEY"] = "not-a-key";

/** Closes the server. The process cannot end while the server is open. */
export async function stopStandIn(): Promise<void> {
  front.close();
  front.closeAllConnections();
  await server.stop();
}
