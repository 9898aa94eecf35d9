import { describe, expect, it } from "vitest";
import { openaiResponses } from "../../src/openai/index.ts";
import { event } from "./anthropic-frames.ts";
import { connectOpenAI, type WireClientOptions } from "./openai-client.ts";
import { connectReply, nothing } from "./connect-reply.ts";
import { ask, createCall, runIteration, type Iteration } from "./provider-iteration.ts";
import { json, sse, type RawReply } from "./raw-sse-server.ts";
import {
  call,
  created,
  customCall,
  cutOff,
  ended,
  message,
  openItem,
  reasoning,
  respond,
  wholeItem,
} from "./responses-frames.ts";

const usage: Iteration["usage"] = { inputTokens: 3, outputTokens: 2, totalTokens: 5, cachedInputTokens: 0, reasoningTokens: 0 };
const said = openItem(message("Hel"));
const oneCall = call(["a", "f", '{"n":1}']);
const asked = { id: "a", name: "f", args: { n: 1 } };

const connect = (reply: RawReply, options: WireClientOptions = {}): ReturnType<typeof connectReply> =>
  connectReply(reply, (url) => openaiResponses({ client: connectOpenAI(url, options).client, model: "m" }));

async function read(reply: RawReply, options: WireClientOptions = {}): Promise<Iteration> {
  return runIteration((await connect(reply, options)).provider, ask("hi"));
}

describe("openaiResponses over a real connection", () => {
  it("reads a stream to its end", async () => {
    expect(await read({ frames: respond(reasoning("Hm.", "x"), message("Hello")) })).toEqual({
      ...nothing,
      text: "Hello",
      reasoning: "Hm.",
      usage,
      finish: "stop",
    });
  });

  it.for([1, 2, 3, 4, 5])("reads multi-byte characters that arrive in %i-byte pieces", async (pieceBytes) => {
    const items = [message("Zoë 😀 日本\u2028"), call(["a", "f", '{"ö":"😀"}']), customCall(["b", "g", "ö 😀"])];
    const iteration: Iteration = {
      ...nothing,
      text: "Zoë 😀 日本\u2028",
      calls: [
        { id: "a", name: "f", args: { ö: "😀" } },
        { id: "b", name: "g", args: { input: "ö 😀" } },
      ],
      usage,
      finish: "tool-calls",
    };
    expect(await read({ frames: respond(...items) }, { pieceBytes })).toEqual(iteration);
    const crlf = `: a comment\n\n${respond(...items).join("")}`.replaceAll("\n", "\r\n");
    expect(await read({ frames: [crlf] }, { pieceBytes })).toEqual(iteration);
  });

  it("reads the last event if the blank line after it is missing", async () => {
    const frames = [created, said, ended("completed").trimEnd()];
    expect(await read({ frames })).toEqual({ ...nothing, text: "Hel", usage, finish: "stop" });
  });

  it.for<[what: string, reply: RawReply, iteration: Partial<Iteration>]>([
    ["the stream ends after a text delta", { frames: [created, said] }, { text: "Hel" }],
    ["the stream ends after a complete message", { frames: [created, wholeItem(message("Hel"))] }, { text: "Hel" }],
    ["[DONE] arrives in place of response.completed", { frames: [created, said, sse("[DONE]")] }, { text: "Hel" }],
    ["the stream ends within a call", { frames: [created, openItem(oneCall)] }, {}],
    ["the stream ends after a complete call", { frames: [created, wholeItem(oneCall)] }, {}],
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

  it.for<[what: string, reply: RawReply, error: object]>([
    [
      "the connection drops",
      { frames: [said], ending: "drop" },
      { code: "network", retryable: true, message: "terminated: other side closed" },
    ],
    [
      "the response fails",
      { frames: [said, ended("failed", { usage: null, error: { code: "server_error", message: "It broke." } })] },
      { code: "server", retryable: true, message: "It broke." },
    ],
    [
      "the service sends an error event",
      { frames: [said, event({ type: "error", code: "rate_limit_exceeded", message: "Slow.", param: null })] },
      { code: "rate-limit", retryable: true, message: "Slow." },
    ],
    [
      "the service sends an error event with nested fields",
      {
        frames: [
          said,
          event({ type: "error", error: { type: "insufficient_quota", code: "insufficient_quota", message: "No." } }),
        ],
      },
      { code: "rate-limit", retryable: false },
    ],
    ["the service sends an error event without fields", { frames: [said, event({ type: "error" })] }, { code: "server" }],
    [
      "an event is not JSON",
      { frames: [said, sse("{oops")] },
      { code: "server", retryable: true, message: expect.stringContaining("{oops") },
    ],
    [
      "the response is canceled",
      { frames: [said, event({ type: "response.cancelled", response: { status: "cancelled" } })] },
      { code: "server", retryable: false, message: "The response was cancelled." },
    ],
  ])("keeps the text and reports the error if %s", async ([, reply, error]) => {
    const iteration = await read(reply);
    expect(iteration).toEqual({ ...nothing, text: "Hel", error: iteration.error });
    expect(iteration.error).toMatchObject(error);
  });

  it("counts a failed response's tokens", async () => {
    const frames = [ended("failed", { error: { code: "server_error", message: "It broke." } })];
    expect(await read({ frames })).toMatchObject({ usage, finish: undefined, error: { code: "server" } });
  });

  it.for<[title: string, status: number, body: object, headers: Readonly<Record<string, string>>, error: object]>([
    [
      "status 400 with a message about the context length",
      400,
      { message: "Your input exceeds the context window of this model.", code: "context_length_exceeded" },
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
      "status 404 with a message about an unknown item",
      404,
      { message: "Item with id 'rs_1' not found." },
      {},
      { code: "bad-request", retryable: false },
    ],
    [
      "status 429 with retry-after",
      429,
      { message: "Slow." },
      { "retry-after": "7" },
      { code: "rate-limit", retryable: true, retryAfterMs: 7_000 },
    ],
    [
      "status 503 with retry-after-ms",
      503,
      { message: "Busy." },
      { "retry-after-ms": "250" },
      { code: "overloaded", retryable: true, retryAfterMs: 250 },
    ],
  ])("reports only an error for %s", async ([, status, body, headers, error]) => {
    const iteration = await read(json(status, { error: body }, headers));
    expect(iteration).toEqual({ ...nothing, error: iteration.error });
    expect(iteration.error).toMatchObject({ status, ...error });
  });

  it.for<[what: string, frames: readonly string[], iteration: Partial<Iteration>]>([
    ["is unfinished", [openItem(oneCall), cutOff("max_output_tokens")], {}],
    ["seems finished", [wholeItem(oneCall), cutOff("max_output_tokens", [oneCall])], {}],
    ["appears only in the last event", [cutOff("max_output_tokens", [oneCall])], {}],
    ["comes after text", [wholeItem(message("Hel")), wholeItem(oneCall, 1), cutOff("max_output_tokens")], { text: "Hel" }],
  ])("marks a call in a cut-off response as truncated if the call %s", async ([, frames, iteration]) => {
    const calls = [{ ...asked, problem: "truncated" as const }];
    expect(await read({ frames: [created, ...frames] })).toEqual({ ...nothing, ...iteration, calls, usage, finish: "length" });
  });

  it.for<[what: string, frames: readonly string[]]>([
    [
      "finished items",
      [
        event({ type: "response.output_item.done", output_index: 0, item: message("Hello") }),
        event({ type: "response.output_item.done", output_index: 1, item: oneCall }),
        ended("completed"),
      ],
    ],
    ["the list of items at the end", [ended("completed", { output: [message("Hello"), oneCall] })]],
    ["deltas", [openItem(message("Hello")), openItem(oneCall, 1), ended("completed")]],
  ])("reads the response of a server that sends only %s", async ([, frames]) => {
    expect(await read({ frames })).toEqual({ ...nothing, text: "Hello", calls: [asked], usage, finish: "tool-calls" });
  });

  it("accepts an answer if the connection drops after the last event", async () => {
    expect(await read({ frames: respond(message("Hello")), ending: "drop" })).toEqual({
      ...nothing,
      text: "Hello",
      usage,
      finish: "stop",
    });
  });

  it("ends the stream and closes the connection when the signal fires while the server is silent", async () => {
    const { server, provider } = await connect({ frames: [said], ending: "stall" });
    const controller = new AbortController();
    const iteration = await runIteration(provider, ask("hi"), { signal: controller.signal, onChunk: () => controller.abort() });
    expect(iteration.finish).toBeUndefined();
    expect("Hel").toContain(iteration.text);
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
    const { server, provider } = await connect({ frames: [said], ending: "stall" });
    for await (const chunk of provider.stream(ask("hi"), createCall())) {
      expect(chunk).toEqual({ type: "text-delta", text: "H" });
      break;
    }
    await server.left;
  });
});
