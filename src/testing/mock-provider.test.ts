import { describe, expect, it } from "vitest";
import { play, request, setUp } from "../../test/testing/play.ts";
import type { Message } from "../core/types/message.ts";
import type { ModelRequest, Provider } from "../core/types/provider.ts";
import { endEarly, failInBand, finish, type MockMessage, text, toolCall, usage } from "./mock-parts.ts";
import { createMockProvider } from "./mock-provider.ts";

describe("createMockProvider: default usage", () => {
  it("is an estimate that precedes the finish chunk", async () => {
    const provider = createMockProvider([
      [text("12345678"), toolCall("abcd", {})],
      [text("x"), finish("length")],
    ]);
    expect((await play(provider)).slice(-2)).toEqual([
      { type: "usage", mode: "snapshot", usage: { inputTokens: 8, outputTokens: 4, totalTokens: 12 } },
      { type: "finish", reason: "tool-calls" },
    ]);
    expect((await play(provider)).map((played) => played.type)).toEqual(["text-delta", "usage", "finish"]);
  });

  it("grows with messages, tools and system text", async () => {
    const provider = createMockProvider(() => text("x"));
    const inputOf = async (asked: ModelRequest): Promise<number> => {
      const counted = (await play(provider, asked)).find((played) => played.type === "usage");
      return counted?.type === "usage" ? counted.usage.inputTokens : 0;
    };
    expect(await inputOf(request)).toBe(8);
    expect(await inputOf({ ...request, system: "x".repeat(40) })).toBe(18);
    expect(await inputOf({ ...request, tools: [{ name: "f", description: "d", inputSchema: {} }] })).toBe(20);
    expect(await inputOf({ ...request, messages: [...request.messages, ...request.messages] })).toBe(15);
  });

  it.for<[when: string, turn: MockMessage]>([
    ["the message reports its own usage", [usage({ inputTokens: 1, outputTokens: 1 }), text("x")]],
    [
      "the message ends with an error chunk",
      [text("x"), failInBand({ name: "Error", code: "overloaded", message: "Busy.", retryable: true })],
    ],
    ["the message ends with endEarly()", [text("x"), endEarly()]],
  ])("is omitted if %s", async ([, turn]) => {
    const estimates = (await play(createMockProvider([turn]))).filter(
      (played) => played.type === "usage" && played.usage.inputTokens !== 1,
    );
    expect(estimates).toEqual([]);
  });
});

describe("createMockProvider", () => {
  it("records each request as it was when it was sent", async () => {
    const messages: Message[] = [...request.messages];
    const provider = createMockProvider([text("a"), text("b")]);
    const asked: ModelRequest = {
      ...request,
      messages,
      system: "s",
      toolChoice: "required",
      settings: { seed: 1 },
      continuationToken: "t",
      transcript: { messages, given: 1 },
    };
    await play(provider, asked);
    messages.push({ role: "assistant", content: [{ type: "text", text: "a" }] });
    await play(provider, { ...asked, iteration: 1 });
    expect(provider.requests.map(({ messages: sent, iteration }) => [sent.length, iteration])).toEqual([
      [1, 0],
      [2, 1],
    ]);
    expect(provider.requests[0]).toEqual({
      ...asked,
      messages: request.messages,
      transcript: { messages: request.messages, given: 1 },
    });
    expect(Object.isFrozen(provider.requests[0])).toBe(true);
  });

  it("counts requests without keeping them with record: false", async () => {
    const provider = createMockProvider(() => text("a"), { record: false });
    await play(provider);
    await play(provider);
    expect([provider.calls, provider.requests.length]).toEqual([2, 0]);
  });

  it("counts the open streams, even after a reader stops early", async () => {
    const provider = createMockProvider(() => text("abc", { chunks: 3 }));
    const streams = [provider.stream(request, setUp().call), provider.stream(request, setUp().call)];
    const [first, second] = streams.map((stream) => stream[Symbol.asyncIterator]());
    expect(provider.active).toBe(0);
    await first?.next();
    await second?.next();
    expect(provider.active).toBe(2);
    await first?.return?.();
    expect(provider.active).toBe(1);
    while ((await second?.next())?.done === false);
    expect(provider.active).toBe(0);
  });
});

describe("createMockProvider: script", () => {
  it("can be a function of the request and its index", async () => {
    const provider = createMockProvider((asked, index) => text(`${index} of ${asked.messages.length}`), { usage: false });
    await play(provider);
    expect((await play(provider))[0]).toEqual({ type: "text-delta", text: "1 of 1" });
  });

  it.for<[script: string, provider: Provider, message: string]>([
    ["list", createMockProvider([]), "asked for message 0 (counted from 0), but the script has only 0"],
    [
      "function",
      createMockProvider(() => undefined),
      "asked for message 0 (counted from 0), but the script function returned none",
    ],
  ])("throws if a %s has no message for a request", ([, provider, message]) => {
    expect(() => provider.stream(request, setUp().call)).toThrow(message);
  });

  it("is played under the id, model and family from the options", () => {
    expect(createMockProvider([])).toMatchObject({ id: "mock", model: "mock-model", family: undefined });
    expect(createMockProvider([], { id: "a", model: "b", family: "c" })).toMatchObject({ id: "a", model: "b", family: "c" });
  });
});
