import { describe, expect, it } from "vitest";
import { anthropicMessages } from "../../src/anthropic/index.ts";
import { connectAnthropic, type AnthropicWireOptions } from "./anthropic-client.ts";
import { call, ending, event, marker, start, stop, text } from "./anthropic-frames.ts";
import { connectReply, nothing } from "./connect-reply.ts";
import { ask, createCall, runIteration, type Iteration } from "./provider-iteration.ts";
import { json, type RawReply } from "./raw-sse-server.ts";

const oneCall = call(0, ["toolu_a", "f", '{"n":1}']);
const whole = { id: "toolu_a", name: "f", args: { n: 1 } };
const spent = (outputTokens: number): Iteration["usage"] => ({ inputTokens: 3, outputTokens, totalTokens: 3 + outputTokens });
const connect = (reply: RawReply, options: AnthropicWireOptions = {}): ReturnType<typeof connectReply> =>
  connectReply(reply, (url) => anthropicMessages({ client: connectAnthropic(url, options).client, model: "m" }));

async function read(reply: RawReply, options: AnthropicWireOptions = {}): Promise<Iteration> {
  return runIteration((await connect(reply, options)).provider, ask("hi"));
}

describe("anthropicMessages over a real connection", () => {
  it("reads a stream to its end", async () => {
    expect(await read({ frames: [start(), text(0, "Hello"), stop("end_turn")] })).toEqual({
      ...nothing,
      text: "Hello",
      usage: spent(2),
      finish: "stop",
    });
  });

  it.for([1, 2, 3, 4, 5])("reads multi-byte characters that arrive in %i-byte pieces", async (pieceBytes) => {
    const frames = [start(), text(0, "Zoë 😀 日本\u2028"), call(1, ["toolu_a", "f", '{"ö":"😀"}']), stop("tool_use")];
    const said: Iteration = {
      ...nothing,
      text: "Zoë 😀 日本\u2028",
      calls: [{ id: "toolu_a", name: "f", args: { ö: "😀" } }],
      usage: spent(2),
      finish: "tool-calls",
    };
    expect(await read({ frames }, { pieceBytes })).toEqual(said);
    const crlf = `: a comment\n\n${frames.join("")}`.replaceAll("\n", "\r\n");
    expect(await read({ frames: [crlf] }, { pieceBytes })).toEqual(said);
  });

  it.for<[what: string, reply: RawReply, iteration: Partial<Iteration>]>([
    ["the stream ends after text", { frames: [start(), text(0, "Hel")] }, { text: "Hel", usage: spent(1) }],
    // An event is complete only if a blank line follows.
    [
      "the blank line after the stop reason is missing",
      { frames: [start(), text(0, "Hel"), ending("end_turn").trimEnd()] },
      { text: "Hel", usage: spent(1) },
    ],
    [
      "message_stop arrives without a stop reason",
      { frames: [start(), text(0, "Hel"), marker] },
      { text: "Hel", usage: spent(1) },
    ],
    ["the stream ends after a complete call", { frames: [start(), oneCall] }, { usage: spent(1) }],
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

  it("reports the finish reason if the stream ends after the stop reason", async () => {
    const answer = { ...nothing, calls: [whole], usage: spent(2), finish: "tool-calls" };
    expect(await read({ frames: [start(), oneCall, ending("tool_use")] })).toEqual(answer);
  });

  it("reports an error and no finish reason if the connection drops after the stop reason", async () => {
    const dropped = await read({ frames: [start(), text(0, "Hel"), ending("end_turn")], ending: "drop" });
    expect([dropped.finish, dropped.error]).toMatchObject([undefined, { code: "network", retryable: true }]);
  });

  it.for<[what: string, reply: RawReply, error: object]>([
    [
      "the connection drops",
      { frames: [start(), text(0, "Hel")], ending: "drop" },
      { code: "network", retryable: true, message: "terminated: other side closed" },
    ],
    [
      "the service reports an overload within the stream",
      {
        frames: [start(), text(0, "Hel"), event({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } })],
      },
      { code: "overloaded", retryable: true, message: "Overloaded" },
    ],
    [
      "the service reports a rate limit within the stream",
      { frames: [start(), text(0, "Hel"), event({ type: "error", error: { type: "rate_limit_error", message: "Slow." } })] },
      { code: "rate-limit", retryable: true },
    ],
    [
      "the service reports a server error within the stream",
      { frames: [start(), text(0, "Hel"), event({ type: "error", error: { type: "api_error", message: "It broke." } })] },
      { code: "server", retryable: true },
    ],
    [
      "an event is not JSON",
      { frames: [start(), text(0, "Hel"), "event: content_block_delta\ndata: {oops\n\n"] },
      { code: "server", retryable: true },
    ],
  ])("keeps the text and reports the error if %s", async ([, reply, error]) => {
    const iteration = await read(reply);
    expect(iteration).toEqual({ ...nothing, text: "Hel", usage: spent(1), error: iteration.error });
    expect(iteration.error).toMatchObject(error);
  });

  it.for<
    [
      title: string,
      status: number,
      said: readonly [type: string, message: string],
      headers: Readonly<Record<string, string>>,
      error: object,
    ]
  >([
    [
      "status 400 with a message about a prompt that is too long",
      400,
      ["invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum"],
      {},
      { code: "context-too-long", retryable: false },
    ],
    [
      "status 400 with a message about a missing field",
      400,
      ["invalid_request_error", "max_tokens: Field required"],
      {},
      { code: "bad-request", retryable: false },
    ],
    [
      "status 400 with a message about an empty credit balance",
      400,
      ["invalid_request_error", "Your credit balance is too low to access the Anthropic API."],
      {},
      { code: "rate-limit", retryable: false },
    ],
    [
      "status 401 with an API key in the message, and redacts the key",
      401,
      ["authentication_error", "invalid x-api-key: sk-ant-api03-abcdef123456"],
      {},
      { code: "auth", retryable: false, message: "invalid x-api-key: [redacted]" },
    ],
    ["status 403", 403, ["permission_error", "No."], {}, { code: "auth", retryable: false }],
    ["status 404", 404, ["not_found_error", "model: claude-0"], {}, { code: "bad-request", retryable: false }],
    [
      "status 429 with retry-after",
      429,
      ["rate_limit_error", "Slow."],
      { "retry-after": "7" },
      { code: "rate-limit", retryable: true, retryAfterMs: 7_000 },
    ],
    ["status 500", 500, ["api_error", "Internal server error"], {}, { code: "server", retryable: true }],
    [
      "status 529 with x-should-retry",
      529,
      ["overloaded_error", "Overloaded"],
      { "x-should-retry": "true" },
      { code: "overloaded", retryable: true },
    ],
  ])("reports only an error for %s", async ([, status, [type, message], headers, error]) => {
    const iteration = await read(json(status, { type: "error", error: { type, message }, request_id: "req_1" }, headers));
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

  it.for<[reason: string, finish: string, problem: object]>([
    ["tool_use", "tool-calls", {}],
    ["end_turn", "tool-calls", {}],
    ["pause_turn", "paused", {}],
    ["compaction", "paused", {}],
    ["stop_sequence", "tool-calls", { problem: "truncated" }],
    ["max_tokens", "length", { problem: "truncated" }],
    ["model_context_window_exceeded", "context-full", { problem: "truncated" }],
    ["refusal", "refusal", { problem: "truncated" }],
    ["weather", "unknown", { problem: "truncated" }],
  ])('after a complete call, maps the stop reason "%s" to the finish reason "%s"', async ([reason, finish, problem]) => {
    expect(await read({ frames: [start(), oneCall, stop(reason)] })).toEqual({
      ...nothing,
      calls: [{ ...whole, ...problem }],
      usage: spent(2),
      finish,
    });
  });

  it("marks as truncated only the call that the length limit cuts off", async () => {
    const frames = [start(), oneCall, call(1, ["toolu_b", "f", '{"n":']), stop("max_tokens")];
    expect((await read({ frames })).calls).toEqual([whole, { id: "toolu_b", name: "f", args: {}, problem: "truncated" }]);
  });

  it("accepts an answer if the connection drops after message_stop", async () => {
    expect(await read({ frames: [start(), text(0, "Hello"), stop("end_turn")], ending: "drop" })).toEqual({
      ...nothing,
      text: "Hello",
      usage: spent(2),
      finish: "stop",
    });
  });

  it("ends the stream and closes the connection when the signal fires while the server is silent", async () => {
    const { server, provider } = await connect({ frames: [start(), text(0, "Hel")], ending: "stall" });
    const controller = new AbortController();
    const onChunk: (chunk: { readonly type: string }) => void = ({ type }) => {
      if (type === "text-delta") controller.abort();
    };
    const iteration = await runIteration(provider, ask("hi"), { signal: controller.signal, onChunk });
    expect(iteration).toEqual({ ...nothing, text: "Hel", usage: spent(1) });
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
    const { server, provider } = await connect({ frames: [start(), text(0, "Hel")], ending: "stall" });
    for await (const { type } of provider.stream(ask("hi"), createCall())) if (type === "text-delta") break;
    await server.left;
  });
});
