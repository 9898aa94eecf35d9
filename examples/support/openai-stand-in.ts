// A local server that replaces api.openai.com. Examples with the OpenAI client then need neither a key nor a network.

import { LLMock } from "@copilotkit/aimock";

const server = new LLMock({ port: 0, logLevel: "silent" });
server.on({}, ({ messages }) => {
  const asksForLima = messages.some(({ content }) => content === "And Lima?");
  const last = messages.at(-1);
  if (last?.role !== "tool") {
    const timeZone = asksForLima ? "America/Lima" : "Asia/Tokyo";
    return { toolCalls: [{ name: "get_time", arguments: JSON.stringify({ timeZone }) }] };
  }
  return { content: `It is ${JSON.stringify(last.content)} in ${asksForLima ? "Lima" : "Tokyo"}.` };
});
await server.start();

// `new OpenAI()` reads these two variables.
process.env["OPENAI_BASE_URL"] = `${server.url}/v1`;
process.env["OPENAI_API_KEY"] = "not-a-key";

/** Makes the server refuse the next request because of a wrong API key. */
export function refuseNext(): void {
  server.nextRequestError(401, { message: "Incorrect API key provided.", type: "invalid_request_error" });
}

/** Closes the server. The process cannot end while the server is open. */
export async function stopStandIn(): Promise<void> {
  await server.stop();
}
