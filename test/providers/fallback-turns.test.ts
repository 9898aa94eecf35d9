import { describe, expect, it } from "vitest";
import { type Message, type Provider, withFallback } from "turnwright";
import { createMockProvider, fail, finish, text, type MockProvider, type MockMessage } from "turnwright/testing";
import { callOf, goRequest, outlineAll } from "./outline.ts";

const mock = (id: string, ...turns: readonly MockMessage[]): MockProvider =>
  createMockProvider(turns, { id, model: `${id}-1`, usage: false });
const busy = fail({ status: 503, message: "Busy." });

describe("withFallback with a paused message to continue", () => {
  it.for<[reason: "paused" | "continue", token: string | undefined]>([
    ["paused", undefined],
    ["continue", "t:1\n2"],
    ["continue", ""],
  ])("calls only the provider that started the message (finish reason %s, token %j)", async ([reason, token]) => {
    const a = mock("a", busy, text("Wrong."));
    const b = mock("b", [text("Half "), finish(reason, { token })], busy);
    const provider = withFallback([a, b]);
    let continuationToken: string | undefined;
    for await (const one of provider.stream(goRequest, callOf())) if (one.type === "finish") continuationToken = one.token;
    const lines = await outlineAll(provider, { request: { continuationToken } });
    expect(lines).toEqual(["start 1 b/b-1", "throws overloaded"]);
    expect([a.calls, b.calls, b.requests[1]?.continuationToken]).toEqual([1, 2, token]);
  });

  it("calls no other provider if the continuation adds no text", async () => {
    const messages: readonly Message[] = [
      ...goRequest.messages,
      { role: "assistant", content: [{ type: "text", text: "Half" }] },
    ];
    const second = mock("b");
    const lines = await outlineAll(withFallback([mock("a", finish("length")), second]), { request: { messages } });
    expect([lines.slice(-2), second.calls]).toEqual([["finish length", "end"], 0]);
  });

  it("first calls the provider named in the message's metadata", async () => {
    const part = { provider: "b", model: "b-1", item: 1 };
    const messages: readonly Message[] = [...goRequest.messages, { role: "assistant", content: [], providerMetadata: [part] }];
    const make = (): Provider => withFallback([mock("a", text("Hi.")), mock("b", busy)]);
    expect((await outlineAll(make(), { request: { messages } })).filter((line) => line.startsWith("start"))).toEqual([
      "start 1 b/b-1",
      "start 2 a/a-1",
    ]);
    const other: readonly Message[] = [{ role: "assistant", content: [], providerMetadata: [{ ...part, model: "b-2" }] }];
    expect((await outlineAll(make(), { request: { messages: other } }))[0]).toBe("start 1 a/a-1");
  });

  it("calls the providers in their usual order if the token names no known provider", async () => {
    const ask = async (continuationToken: string): Promise<unknown> => {
      const b = mock("b", text("Hi."));
      await outlineAll(withFallback([mock("a", busy), b]), { request: { continuationToken } });
      return b.requests[0]?.continuationToken;
    };
    expect([await ask("odd"), await ask("turnwright-fallback:7:odd")]).toEqual(["odd", "odd"]);
  });
});
