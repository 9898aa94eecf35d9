import { describe, expect, it } from "vitest";
import { openaiChat } from "../../src/openai/index.ts";
import { connectOpenAI, type WireClientOptions } from "./openai-client.ts";
import { connectReply, nothing } from "./connect-reply.ts";
import { ask, createCall, runIteration, type Iteration } from "./provider-iteration.ts";
import { done, json, sse, type RawReply } from "./raw-sse-server.ts";

const text = (content: string): string => sse({ choices: [{ index: 0, delta: { content } }] });
const finish = (reason: string): string => sse({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
const call = (args: string): string =>
  sse({
    choices: [
      { index: 0, delta: { tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: args } }] } },
    ],
  });

const connect = (reply: RawReply, options: WireClientOptions = {}): ReturnType<typeof connectReply> =>
  connectReply(reply, (url) => openaiChat({ client: connectOpenAI(url, options).client, model: "m" }));

async function read(reply: RawReply, options: WireClientOptions = {}): Promise<Iteration> {
  return runIteration((await connect(reply, options)).provider, ask("hi"));
}

describe("openaiChat over a real connection", () => {
  it("reads a stream to its end", async () => {
    expect(await read({ frames: [text("Hello"), finish("stop"), done] })).toEqual({ ...nothing, text: "Hello", finish: "stop" });
  });

  it.for([1, 2, 3, 4, 5])("reads multi-byte characters that arrive in %i-byte pieces", async (pieceBytes) => {
    const frames = [text("Zoë 😀 日本"), text("\u2028"), call('{"ö":"😀"}'), finish("tool_calls"), done];
    expect(await read({ frames }, { pieceBytes })).toEqual({
      ...nothing,
      text: "Zoë 😀 日本\u2028",
      calls: [{ id: "a", name: "f", args: { ö: "😀" } }],
      finish: "tool-calls",
    });
  });

  it.for<[what: string, reply: RawReply, iteration: Partial<Iteration>]>([
    ["the stream ends after text", { frames: [text("Hel")] }, { text: "Hel" }],
    ["text contains [DONE] and the stream ends", { frames: [text("\ndata: [DONE]")] }, { text: "\ndata: [DONE]" }],
    ["[DONE] follows no content", { frames: [text(""), done] }, {}],
    ["the stream ends within a call", { frames: [call('{"n":')] }, {}],
    ["the stream ends after a complete call", { frames: [call('{"n":1}')] }, {}],
    ["the body is empty", { frames: [] }, {}],
    [
      "the response is an HTML page with status 200",
      { headers: { "content-type": "text/html" }, frames: ["<!doctype html><title>Sign in</title>\n\n"] },
      { error: expect.objectContaining({ code: "server", retryable: false, message: "The server sent an HTML page: Sign in" }) },
    ],
    [
      "the response is JSON with status 200",
      json(200, { error: { message: "no" } }),
      { error: expect.objectContaining({ message: "no" }) },
    ],
  ])("reports neither a finish reason nor a call if %s", async ([, reply, iteration]) => {
    expect(await read(reply)).toEqual({ ...nothing, ...iteration });
  });

  it.for([undefined, 1, 5])(
    "accepts [DONE] as the end of an answer without a finish reason, in pieces of %s bytes",
    async (pieceBytes) => {
      const pieces = pieceBytes === undefined ? {} : { pieceBytes };
      expect(await read({ frames: [text("Hel"), done] }, pieces)).toEqual({ ...nothing, text: "Hel", finish: "stop" });
      const calls = [{ id: "a", name: "f", args: { n: 1 } }];
      expect(await read({ frames: [call('{"n":1}'), done] }, pieces)).toEqual({ ...nothing, calls, finish: "tool-calls" });
    },
  );

  it.for<[what: string, frames: readonly string[], iteration: Partial<Iteration>]>([
    ["before the finish reason", [text("Hel")], { error: expect.objectContaining({ message: "Token limit reached" }) }],
    ["after the finish reason", [text("Hel"), finish("length")], { finish: "length" }],
  ])("counts the tokens of an answer with an error %s (recorded at OpenRouter)", async ([, frames, iteration]) => {
    const usage = { prompt_tokens: 43, completion_tokens: 10, total_tokens: 53 };
    const choices = [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }];
    const failure = sse({ error: { code: 400, message: "Token limit reached" }, choices, usage });
    expect(await read({ frames: [...frames, failure, done] })).toEqual({
      ...nothing,
      text: "Hel",
      usage: { inputTokens: 43, outputTokens: 10, totalTokens: 53 },
      ...iteration,
    });
  });

  it("does not accept [DONE] as the end of an answer with an incomplete call", async () => {
    expect(await read({ frames: [call('{"n":'), done] })).toEqual(nothing);
  });

  it.for<[what: string, reply: RawReply, error: object]>([
    [
      "the connection drops",
      { frames: [text("Hel")], ending: "drop" },
      { code: "network", retryable: true, message: "terminated: other side closed" },
    ],
    [
      "the service reports an error within the stream",
      { frames: [text("Hel"), sse({ error: { message: "It broke.", type: "server_error" } })] },
      { code: "server", retryable: true, message: "It broke." },
    ],
    [
      "the service reports an overload within the stream",
      { frames: [text("Hel"), sse({ error: { message: "Busy.", code: 529 } })] },
      { code: "overloaded", retryable: true, status: 529 },
    ],
    [
      'the service sends an event of type "error"',
      { frames: [text("Hel"), 'event: error\ndata: {"error":{"message":"Slow.","type":"rate_limit_exceeded"}}\n\n'] },
      { code: "rate-limit", retryable: true },
    ],
    [
      "a chunk is not JSON",
      { frames: [text("Hel"), sse("{oops")] },
      { code: "server", retryable: true, message: expect.stringContaining("{oops") },
    ],
    [
      "a gateway writes its error as text",
      { frames: [text("Hel"), "event: error\ndata: upstream request timeout\n\n", done] },
      { message: "The service sent an event that is not JSON: upstream request timeout", retryable: true },
    ],
    [
      "MiniMax reports an error with status 200",
      { frames: [text("Hel"), sse({ choices: null, base_resp: { status_code: 1008, status_msg: "insufficient balance" } })] },
      { message: "insufficient balance", retryable: false },
    ],
  ])("keeps the text and reports the error if %s", async ([, reply, error]) => {
    const iteration = await read(reply);
    expect(iteration).toEqual({ ...nothing, text: "Hel", error: iteration.error });
    expect(iteration.error).toMatchObject(error);
  });

  it.for<[title: string, status: number, body: object, headers: Readonly<Record<string, string>>, error: object]>([
    [
      "status 400 with a message about the context length",
      400,
      { message: "maximum context length is 10 tokens", code: "context_length_exceeded" },
      {},
      { code: "context-too-long", retryable: false },
    ],
    [
      "status 401 with an API key in the message, and redacts the key",
      401,
      { message: "Incorrect API key provided: sk-abc123def456." },
      {},
      { code: "auth", retryable: false, message: "Incorrect API key provided: [redacted]." },
    ],
    [
      "status 429 with retry-after",
      429,
      { message: "Slow." },
      { "retry-after": "7" },
      { code: "rate-limit", retryable: true, retryAfterMs: 7_000 },
    ],
    [
      "status 429 with a message about an exhausted quota",
      429,
      { message: "No more.", code: "insufficient_quota" },
      {},
      { code: "rate-limit", retryable: false },
    ],
    ["status 500", 500, { message: "It broke." }, {}, { code: "server", retryable: true }],
    [
      "status 529 with retry-after-ms",
      529,
      { message: "Busy." },
      { "retry-after-ms": "250" },
      { code: "overloaded", retryable: true, retryAfterMs: 250 },
    ],
  ])("reports only an error for %s", async ([, status, body, headers, error]) => {
    const iteration = await read(json(status, { error: body }, headers));
    expect(iteration).toEqual({ ...nothing, error: iteration.error });
    expect(iteration.error).toMatchObject({ status, ...error });
  });

  it("shows only the title of an HTML error page from a proxy", async () => {
    const page = "<html><head><title>502 Bad Gateway</title></head></html>";
    const iteration = await read({ status: 502, headers: { "content-type": "text/html" }, frames: [page] });
    expect(iteration.error).toMatchObject({
      code: "server",
      status: 502,
      message: "The server sent an HTML page: 502 Bad Gateway",
    });
  });

  it("reports a network error if the server is down", async () => {
    const { server, provider } = await connect({});
    await server.close();
    expect((await runIteration(provider, ask("hi"))).error).toMatchObject({ code: "network", retryable: true });
  });

  it("marks a call as truncated if the length limit cuts it off", async () => {
    expect(await read({ frames: [call('{"n":'), finish("length"), done] })).toEqual({
      ...nothing,
      calls: [{ id: "a", name: "f", args: {}, problem: "truncated" }],
      finish: "length",
    });
  });

  it("accepts an answer if the connection drops after the finish reason", async () => {
    expect(await read({ frames: [text("Hello"), finish("stop")], ending: "drop" })).toEqual({
      ...nothing,
      text: "Hello",
      finish: "stop",
    });
  });

  it("ends the stream and closes the connection when the signal fires while the server is silent", async () => {
    const { server, provider } = await connect({ frames: [text("Hel")], ending: "stall" });
    const controller = new AbortController();
    const iteration = await runIteration(provider, ask("hi"), { signal: controller.signal, onChunk: () => controller.abort() });
    expect(iteration).toEqual({ ...nothing, text: "Hel" });
    await server.left;
  });

  it("reports a network error if the signal has already fired", async () => {
    const { provider } = await connect({ ending: "stall" });
    const controller = new AbortController();
    controller.abort();
    const iteration = await runIteration(provider, ask("hi"), { signal: controller.signal });
    expect(iteration.error).toMatchObject({ code: "network", retryable: false });
  });

  it("closes the connection when the stream's reader stops", async () => {
    const { server, provider } = await connect({ frames: [text("Hel")], ending: "stall" });
    for await (const chunk of provider.stream(ask("hi"), createCall())) {
      expect(chunk).toEqual({ type: "text-delta", text: "Hel" });
      break;
    }
    await server.left;
  });
});
