import OpenAI, { AzureOpenAI } from "openai";
import { describe, expect, it } from "vitest";
import { ask, createCall } from "../../test/wire/provider-iteration.ts";
import { collect, streamScript } from "../../test/wire/scripted-stream.ts";
import type { ChatRequestBody, OpenAIChatClient } from "./chat-options.ts";
import { openaiChat } from "./openai-chat.ts";

const text = (content: string): object => ({ choices: [{ index: 0, delta: { content } }] });
const stop = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };

interface FakeClient extends OpenAIChatClient {
  readonly requests: readonly { readonly body: ChatRequestBody; readonly signal: AbortSignal }[];
  /** The number of streams that the provider closed early. */
  readonly left: number;
}

function createFakeClient(chunks: readonly unknown[]): FakeClient {
  const requests: { readonly body: ChatRequestBody; readonly signal: AbortSignal }[] = [];
  let left = 0;
  return {
    requests,
    get left() {
      return left;
    },
    chat: {
      completions: {
        async create(body, { signal }) {
          requests.push({ body, signal });
          return streamScript(chunks, () => (left += 1));
        },
      },
    },
  };
}

const run = (chunks: readonly unknown[]): ReturnType<typeof collect> =>
  collect(openaiChat({ client: createFakeClient(chunks), model: "m" }).stream(ask("hi"), createCall()));

describe("openaiChat", () => {
  it("has the id openai and no family by default", () => {
    const client = createFakeClient([]);
    expect(openaiChat({ client, model: "m" })).toEqual({ id: "openai", model: "m", stream: expect.any(Function) });
    expect(openaiChat({ client, model: "m", id: "groq", family: "llama" })).toMatchObject({ id: "groq", family: "llama" });
  });

  it("accepts an OpenAI and an AzureOpenAI client", () => {
    const clients: readonly OpenAIChatClient[] = [
      new OpenAI({ apiKey: "x" }),
      new AzureOpenAI({ apiKey: "x", apiVersion: "1", endpoint: "https://x.test" }),
    ];
    for (const client of clients) expect(openaiChat({ client, model: "m" }).model).toBe("m");
  });

  it("sends the request only when the stream is read", async () => {
    const client = createFakeClient([stop]);
    const stream = openaiChat({ client, model: "m" }).stream(ask("hi"), createCall());
    expect(client.requests).toEqual([]);
    await collect(stream);
    expect(client.requests.map(({ body }) => body)).toEqual([expect.objectContaining({ model: "m", stream: true })]);
  });

  it("passes a call's signal and abort reason to the client until the stream ends", async () => {
    const client = createFakeClient([text("a"), stop]);
    const [during, after] = [new AbortController(), new AbortController()];
    const provider = openaiChat({ client, model: "m" });
    for await (const { type } of provider.stream(ask("hi"), createCall(during.signal)))
      if (type === "text-delta") during.abort("during");
    await collect(provider.stream(ask("hi"), createCall(after.signal)));
    after.abort("after");
    expect(client.requests.map(({ signal }) => (signal.aborted ? signal.reason : "not fired"))).toEqual(["during", "not fired"]);
  });

  it("yields the content as chunks, with the finish chunk last", async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    expect(await run([text("a"), text("b"), stop, { choices: [], usage }])).toEqual({
      chunks: [
        { type: "text-delta", text: "a" },
        { type: "text-delta", text: "b" },
        { type: "usage", usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 }, mode: "snapshot" },
        { type: "finish", reason: "stop", raw: "stop" },
      ],
      thrown: undefined,
    });
  });

  it("yields several chunks in the right order for one SDK chunk", async () => {
    const both = { choices: [{ index: 0, delta: { reasoning: "Hm", content: "a" }, finish_reason: "stop" }] };
    expect((await run([both])).chunks.map((chunk) => chunk.type)).toEqual(["reasoning-delta", "text-delta", "finish"]);
  });

  it("yields no finish chunk if the stream has no finish reason", async () => {
    expect(await run([text("a")])).toEqual({ chunks: [{ type: "text-delta", text: "a" }], thrown: undefined });
    expect(await run([])).toEqual({ chunks: [], thrown: undefined });
  });

  it("throws the client's error, both before and during the stream", async () => {
    const refused = new OpenAI.AuthenticationError(401, {}, "no", new Headers());
    const client: OpenAIChatClient = { chat: { completions: { create: () => Promise.reject(refused) } } };
    expect(await collect(openaiChat({ client, model: "m" }).stream(ask("hi"), createCall()))).toEqual({
      chunks: [],
      thrown: refused,
    });
    const reset = new TypeError("terminated");
    expect(await run([text("a"), reset])).toEqual({ chunks: [{ type: "text-delta", text: "a" }], thrown: reset });
  });

  it("ignores errors that the client throws after the finish reason", async () => {
    const broke = new OpenAI.APIError(undefined, { message: "It broke.", type: "server_error" }, undefined, undefined);
    for (const thrown of [new TypeError("terminated"), broke]) {
      const { chunks } = await run([text("a"), stop, thrown]);
      expect(chunks.at(-1)).toEqual({ type: "finish", reason: "stop", raw: "stop" });
    }
  });

  it("closes the client's stream after an error chunk", async () => {
    const client = createFakeClient([text("a"), { error: { message: "It broke." } }, text("b")]);
    const { chunks } = await collect(openaiChat({ client, model: "m" }).stream(ask("hi"), createCall()));
    expect(chunks.map((chunk) => chunk.type)).toEqual(["text-delta", "error"]);
    expect(client.left).toBe(1);
  });

  it("closes the client's stream when the reader stops early", async () => {
    const client = createFakeClient([text("a"), text("b"), stop]);
    for await (const chunk of openaiChat({ client, model: "m" }).stream(ask("hi"), createCall())) {
      expect(chunk).toEqual({ type: "text-delta", text: "a" });
      break;
    }
    expect(client.left).toBe(1);
  });

  it("throws a ProviderError if the client answers without a stream", async () => {
    const completion = JSON.parse('{"choices":[{"message":{"content":"hi"}}]}');
    const client: OpenAIChatClient = { chat: { completions: { create: () => Promise.resolve(completion) } } };
    const { thrown } = await collect(openaiChat({ client, model: "m" }).stream(ask("hi"), createCall()));
    expect(thrown).toMatchObject({ name: "ProviderError", code: "server", message: "The client did not return a stream." });
  });
});
