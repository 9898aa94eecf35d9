import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { ask, createCall } from "../../test/wire/provider-iteration.ts";
import { collect, streamScript } from "../../test/wire/scripted-stream.ts";
import type { ModelChunk, ModelRequest } from "../core/index.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import type {
  AnthropicMessagesClient,
  AnthropicMessagesOptions,
  MessagesRequestBody,
  MessagesRequestOptions,
} from "./messages-options.ts";

const begin = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
const text = (content: string): object => ({
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text: content },
});
const ending = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } };
const marker = { type: "message_stop" };

interface FakeClient extends AnthropicMessagesClient {
  readonly requests: readonly (MessagesRequestOptions & { readonly body: MessagesRequestBody })[];
  /** The number of streams that the provider closed early. */
  readonly left: number;
}

function createFakeClient(events: readonly unknown[]): FakeClient {
  const requests: (MessagesRequestOptions & { readonly body: MessagesRequestBody })[] = [];
  let left = 0;
  return {
    requests,
    get left() {
      return left;
    },
    messages: {
      async create(body, options) {
        requests.push({ body, ...options });
        return streamScript(events, () => (left += 1));
      },
    },
  };
}

const runWith = (client: AnthropicMessagesClient): ReturnType<typeof collect> =>
  collect(anthropicMessages({ client, model: "m" }).stream(ask("hi"), createCall()));
const run = (events: readonly unknown[]): ReturnType<typeof collect> => runWith(createFakeClient(events));
const typesOf = (chunks: readonly ModelChunk[]): readonly string[] => chunks.map(({ type }) => type);

describe("anthropicMessages", () => {
  it("has the id anthropic and no family by default", () => {
    const client = createFakeClient([]);
    expect(anthropicMessages({ client, model: "m" })).toEqual({ id: "anthropic", model: "m", stream: expect.any(Function) });
    expect(anthropicMessages({ client, model: "m", id: "aws.bedrock", family: "claude" })).toMatchObject({
      id: "aws.bedrock",
      family: "claude",
    });
  });

  it("sets the `compacts` field only with the `compaction` option", () => {
    const client = createFakeClient([]);
    const of = (compaction: AnthropicMessagesOptions["compaction"]): unknown =>
      anthropicMessages({ client, model: "m", compaction }).compacts;
    expect([undefined, false, true, { instructions: "Be brief." }].map(of)).toEqual([undefined, undefined, true, true]);
  });

  it("accepts the SDK client and the client's beta namespace", () => {
    const sdk = new Anthropic({ apiKey: "x" });
    const clients: readonly AnthropicMessagesClient[] = [sdk, sdk.beta];
    for (const client of clients) expect(anthropicMessages({ client, model: "m" }).model).toBe("m");
  });

  it("sends the request only when the stream is read", async () => {
    const client = createFakeClient([ending, marker]);
    const stream = anthropicMessages({ client, model: "m" }).stream(ask("hi"), createCall());
    expect(client.requests).toEqual([]);
    await collect(stream);
    expect(client.requests).toEqual([
      { body: expect.objectContaining({ model: "m", stream: true }), signal: expect.any(AbortSignal) },
    ]);
  });

  it("sends betas in the anthropic-beta header", async () => {
    const client = createFakeClient([ending, marker]);
    const provider = anthropicMessages({ client, model: "m", betas: ["a-1", "b-2"] });
    await collect(provider.stream(ask("hi"), createCall()));
    expect(client.requests).toMatchObject([{ headers: { "anthropic-beta": "a-1,b-2" } }]);
  });

  it.for<[expiresAt: string, container: string | undefined]>([
    ["2001-01-01T00:00:00Z", undefined],
    ["2999-01-01T00:00:00Z", "c1"],
  ])(
    "compares the expiry date %s of a container with the system time, not with the run's clock",
    async ([expiresAt, container]) => {
      const client = createFakeClient([ending, marker]);
      const providerMetadata = [{ provider: "anthropic", model: "m", item: { container: { id: "c1", expires_at: expiresAt } } }];
      const messages: ModelRequest["messages"] = [
        { role: "user", content: "hi" },
        { role: "assistant", content: [{ type: "text", text: "Hello." }], providerMetadata },
        { role: "user", content: "And?" },
      ];
      const provider = anthropicMessages({ client, model: "m" });
      await collect(provider.stream(ask("hi", { messages }), createCall()));
      expect(client.requests.map(({ body }) => Reflect.get(body, "container"))).toEqual([container]);
    },
  );

  it("passes a call's signal and abort reason to the client until the stream ends", async () => {
    const client = createFakeClient([begin, text("a"), ending, marker]);
    const [during, after] = [new AbortController(), new AbortController()];
    const provider = anthropicMessages({ client, model: "m" });
    for await (const { type } of provider.stream(ask("hi"), createCall(during.signal)))
      if (type === "text-delta") during.abort("during");
    await collect(provider.stream(ask("hi"), createCall(after.signal)));
    after.abort("after");
    expect(client.requests.map(({ signal }) => (signal.aborted ? signal.reason : "not fired"))).toEqual(["during", "not fired"]);
  });

  it("yields the events as chunks, then the provider metadata, then the finish chunk", async () => {
    expect(await run([begin, text("a"), text("b"), ending, marker])).toEqual({
      chunks: [
        { type: "text-delta", text: "a" },
        { type: "text-delta", text: "b" },
        { type: "usage", usage: { inputTokens: 0, outputTokens: 2, totalTokens: 2 }, mode: "snapshot" },
        { type: "provider-metadata", item: { content_block: { type: "text", text: "ab" } } },
        { type: "finish", reason: "stop", raw: "end_turn" },
      ],
      thrown: undefined,
    });
  });

  it("yields no finish chunk if the stream has neither a stop reason nor message_stop", async () => {
    expect(typesOf((await run([begin, text("a")])).chunks)).toEqual(["text-delta"]);
    expect(await run([])).toEqual({ chunks: [], thrown: undefined });
  });

  it("throws the client's error, both before and during the stream", async () => {
    const refused = new Anthropic.AuthenticationError(401, {}, "no", new Headers());
    expect(await runWith({ messages: { create: () => Promise.reject(refused) } })).toEqual({ chunks: [], thrown: refused });
    const reset = new TypeError("terminated");
    expect(await run([begin, text("a"), reset])).toEqual({ chunks: [{ type: "text-delta", text: "a" }], thrown: reset });
    expect((await run([begin, text("a"), ending, reset])).thrown).toBe(reset);
  });

  it("ignores errors that the client throws after message_stop", async () => {
    const broke = new Anthropic.APIError(undefined, { error: { type: "api_error" } }, undefined, undefined);
    for (const thrown of [new TypeError("terminated"), broke, new SyntaxError("Unexpected token 'D'")]) {
      const { chunks } = await run([begin, text("a"), ending, marker, thrown]);
      expect(chunks.at(-1)).toEqual({ type: "finish", reason: "stop", raw: "end_turn" });
    }
  });

  it("closes the client's stream after an error event", async () => {
    const client = createFakeClient([begin, text("a"), { type: "error", error: { message: "It broke." } }, text("b")]);
    expect(typesOf((await runWith(client)).chunks)).toEqual(["text-delta", "error"]);
    expect(client.left).toBe(1);
  });

  it("closes the client's stream when the reader stops early", async () => {
    const client = createFakeClient([begin, text("a"), text("b"), ending, marker]);
    const stream = anthropicMessages({ client, model: "m" }).stream(ask("hi"), createCall());
    for await (const chunk of stream) {
      expect(chunk).toEqual({ type: "text-delta", text: "a" });
      break;
    }
    expect(client.left).toBe(1);
  });

  it("throws a ProviderError if the client answers without a stream", async () => {
    const { thrown } = await runWith({ messages: { create: () => Promise.resolve(JSON.parse('{"content":[]}')) } });
    expect(thrown).toMatchObject({ name: "ProviderError", code: "server", message: "The client did not return a stream." });
  });
});
