import { onTestFinished } from "vitest";
import type { Provider } from "turnwright";
import type { Iteration } from "./provider-iteration.ts";
import { type RawReply, type RawServer, startRawServer } from "./raw-sse-server.ts";

export const nothing: Iteration = {
  text: "",
  reasoning: "",
  refusal: "",
  calls: [],
  usage: undefined,
  finish: undefined,
  error: undefined,
};

export async function connectReply(
  reply: RawReply,
  connect: (url: string) => Provider,
): Promise<{ readonly server: RawServer; readonly provider: Provider }> {
  const server = await startRawServer([reply]);
  onTestFinished(() => server.close());
  return { server, provider: connect(server.url) };
}
