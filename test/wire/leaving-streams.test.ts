import { describe, expect, it } from "vitest";
import type { ModelChunk } from "turnwright";
import { wires } from "./all-wires.ts";
import { connectReply } from "./connect-reply.ts";
import { ask, createCall } from "./provider-iteration.ts";

async function readAll(chunks: AsyncIterator<ModelChunk>): Promise<readonly string[]> {
  const types: string[] = [];
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) types.push(next.value.type);
  return types;
}

describe.for(wires)("provider $name: a stream", (wire) => {
  it("ends and closes the connection when the reader stops while the service is silent", async () => {
    const reply = { ...wire.toReply({ text: "Hel", end: "lost" }), ending: "stall" } as const;
    const { server, provider } = await connectReply(reply, (url) => wire.connect(url).provider);
    const chunks = provider.stream(ask("hi"), createCall())[Symbol.asyncIterator]();
    await chunks.next();
    const rest = readAll(chunks);
    await chunks.return?.();
    expect(await rest).not.toContain("finish");
    await server.left;
  });
});
