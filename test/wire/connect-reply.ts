// Connects a provider to a service that sends one reply, over a real connection.

import { onTestFinished } from "vitest";
import type { Provider } from "turnwright";
import type { Iteration } from "./provider-iteration.ts";
import { type RawReply, type RawServer, startRawServer } from "./raw-sse-server.ts";

/** The iteration for an empty stream. */
export const nothing: Iteration = {
  text: "",
  reasoning: "",
  refusal: "",
  calls: [],
  usage: undefined,
  finish: undefined,
  error: undefined,
};

/** Starts the service. It stops when the test ends. */
export async function connectReply(
  reply: RawReply,
  connect: (url: string) => Provider,
): Promise<{ readonly server: RawServer; readonly provider: Provider }> {
  const server = await startRawServer([reply]);
  onTestFinished(() => server.close());
  return { server, provider: connect(server.url) };
}
