import type { ModelCall, ModelChunk, ModelRequest, Provider, ToolDefinition } from "turnwright";
import { type Cassette, createMockProvider, memoryCassette, type MockPart, recordTo, text } from "turnwright/testing";
import { play, request } from "./play.ts";

export const says = (...chunks: readonly ModelChunk[]): Provider => ({
  id: "p",
  model: "m",
  async *stream() {
    yield* chunks;
  },
});
export const script = (...turns: readonly (readonly MockPart[])[]): Provider => createMockProvider(turns, { usage: false });
export const textsOf = (chunks: readonly ModelChunk[]): string =>
  chunks.flatMap((chunk) => (chunk.type === "text-delta" ? [chunk.text] : [])).join("");
export const linesOf = (cassette: Cassette): unknown[] =>
  cassette
    .read()
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));

export const user = (content: string): ModelRequest["messages"][number] => ({ role: "user", content });
export const ask = (content: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  ...request,
  messages: [user(content)],
  ...more,
});
export const echo: ToolDefinition = { name: "echo", description: "Says it back", inputSchema: { type: "object" } };
export const sum: ToolDefinition = { name: "sum", description: "Adds", inputSchema: { type: "object" } };

export async function record(...requests: readonly ModelRequest[]): Promise<Cassette> {
  const cassette = memoryCassette();
  const provider = recordTo(cassette, script(...requests.map((_, index) => [text(String(index))])));
  for (const asked of requests) await play(provider, asked);
  return cassette;
}

export const failureOf = async (provider: Provider, asked: ModelRequest = request, call?: ModelCall): Promise<unknown> => {
  try {
    await play(provider, asked, call);
  } catch (error) {
    return error;
  }
  throw new Error("It did not fail.");
};
export const complaintOf = async (provider: Provider, asked?: ModelRequest): Promise<string> => {
  const failure = await failureOf(provider, asked);
  return failure instanceof Error ? failure.message : "";
};
