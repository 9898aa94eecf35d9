import type { Provider, ProviderErrorCode } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTestClock } from "turnwright/testing";
import { packageWires } from "./ai-sdk-client.ts";
import { chat } from "./chat-script.ts";
import { generate } from "./generate-script.ts";
import { messages } from "./messages-script.ts";
import { ask, type Iteration, runIteration } from "./provider-iteration.ts";
import { type RawReply, startRawServer } from "./raw-sse-server.ts";
import { responses } from "./responses-script.ts";

const vendors = [chat, responses, messages, generate];
const error = { message: "Invalid API key", type: "authentication_error", code: "invalid_api_key" };

async function hear(connect: (url: string) => Provider, reply: RawReply): Promise<Iteration> {
  const server = await startRawServer([reply]);
  onTestFinished(() => server.close());
  return runIteration(connect(server.url), ask("Go."));
}

const page = (status: number, type: string, ...frames: readonly string[]): RawReply => ({
  status,
  headers: { "content-type": type },
  frames,
});

/** Splits a body into three pieces. The first piece is blank, so it does not show if the body is JSON. */
const inPieces = (text: string): readonly string[] => [" \n", text.slice(0, 9), text.slice(9)];

interface Connected {
  readonly name: string;
  connect(url: string): Provider;
}

const all: readonly Connected[] = [
  ...vendors.map(({ name, connect }) => ({ name, connect: (url: string) => connect(url).provider })),
  ...packageWires.map(({ name, connect }) => ({
    name,
    connect: (url: string) => aiSdkModel({ model: connect(url).model }),
  })),
];

describe.for(all)("provider $name with an error response", ({ connect }) => {
  it.for<[title: string, code: ProviderErrorCode, status: number, body: string]>([
    ["status 401 with an empty body", "auth", 401, ""],
    ["status 400 with an empty body", "bad-request", 400, ""],
    ["status 403 with incomplete JSON", "auth", 403, '{"error":{"code":403,"mess'],
    [
      "status 400 with incomplete JSON about a prompt that is too long",
      "context-too-long",
      400,
      '{"error":{"message":"prompt is too long: 9 tokens > 8 maximum","ty',
    ],
    ["status 429 with plain text", "rate-limit", 429, "Slow down."],
    ["status 503 with an HTML page", "overloaded", 503, "<html><title>Busy</title>"],
    [
      "status 400 with a message about an invalid API key",
      "auth",
      400,
      '{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}',
    ],
  ])('maps %s to the error code "%s"', async ([, code, status, body]) => {
    const { error: found } = await hear(connect, page(status, "application/json", body));
    expect(found?.code).toBe(code);
    expect(found?.status).toBe(status);
  });
});

describe.for(vendors)("provider $name: a response with status 200 that is not a stream", ({ connect }) => {
  const read = (reply: RawReply): Promise<Iteration> => hear((url) => connect(url).provider, reply);

  it.for<[what: string, reply: RawReply, code: ProviderErrorCode, message: string]>([
    ["a JSON error", page(200, "application/json", JSON.stringify({ error })), "auth", error.message],
    [
      "a JSON error that arrives in pieces",
      page(200, "application/json", ...inPieces(JSON.stringify({ error }, null, 2))),
      "auth",
      error.message,
    ],
    ["an incomplete JSON error", page(200, "text/plain", JSON.stringify({ error }).slice(0, -9)), "auth", error.message],
    ["JSON with an error string", page(200, "application/json", '{"error":"Model is loading"}'), "server", "Model is loading"],
    ["JSON with a detail string", page(200, "application/json", '{"detail":"Not allowed"}'), "server", "Not allowed"],
    ["a JSON answer", page(200, "application/json", '{"choices":[]}'), "server", 'The service sent no stream: {"choices":[]}'],
    [
      "80,000 whitespace characters",
      page(200, "application/json", ...Array.from({ length: 80 }, () => " \n".repeat(500))),
      "server",
      "The service sent no stream: only blank characters",
    ],
    [
      "an HTML page",
      page(200, "text/html", "<!doctype html><title>Sign in</title>"),
      "server",
      "The server sent an HTML page: Sign in",
    ],
    ["a JSON error sent as text/event-stream", page(200, "text/event-stream", JSON.stringify({ error })), "auth", error.message],
    [
      "a JSON error that arrives in pieces as text/event-stream",
      page(200, "text/event-stream; charset=utf-8", ...inPieces(JSON.stringify({ error }, null, 2))),
      "auth",
      error.message,
    ],
    [
      "an HTML page sent as text/event-stream",
      page(200, "text/event-stream", "\n", "<!doctype html><title>Sign in</title>"),
      "server",
      "The server sent an HTML page: Sign in",
    ],
  ])("gives a non-retryable error if the body is %s", async ([, reply, code, message]) => {
    expect((await read(reply)).error).toMatchObject({ code, retryable: false, message });
  });

  it.for<[what: string, reply: RawReply]>([
    ["a JSON error", page(200, "application/json", JSON.stringify({ error }))],
    ["a JSON error sent as text/event-stream", page(200, "text/event-stream", JSON.stringify({ error }))],
    ["an incomplete JSON error", page(200, "application/json", JSON.stringify({ error }).slice(0, -9))],
  ])("gives an error before the connection closes if the body is %s", async ([, reply]) => {
    const server = await startRawServer([{ ...reply, ending: "stall" }]);
    onTestFinished(() => server.close());
    const clock = createTestClock();
    const reading = runIteration(connect(server.url).provider, ask("Go."), { clock });
    await expect.poll(() => clock.pending).toBe(1);
    await clock.advance(1_000);
    expect((await reading).error).toMatchObject({ code: "auth", retryable: false, message: error.message });
    expect(clock.pending).toBe(0);
    await server.left;
  });

  it("gives a retryable error or no error if the body is empty", async () => {
    const { error: found, finish } = await read(page(200, "application/json", ""));
    expect([found?.retryable ?? true, finish]).toEqual([true, undefined]);
  });
});

describe.for(vendors)("provider $name: a stream", ({ toReply, connect }) => {
  it.for<[title: string, value: string]>([
    ["blank lines", "\n\n"],
    ["a comment", ": keep-alive\n\n"],
    ["a byte order mark", "\uFEFF"],
    ["a retry: field", "retry: 9\n\n"],
    ["an unknown field", "x-unknown: {}\n\n"],
  ])("is accepted if it begins with %s", async ([, begin]) => {
    const [first = "", ...rest] = toReply({ text: "Mild.", end: "stop" }).frames ?? [];
    const { text, finish } = await hear((url) => connect(url).provider, { frames: [begin + first, ...rest] });
    expect([text, finish]).toEqual(["Mild.", "stop"]);
  });
});

const replies = [
  ...vendors.map(({ name, toReply, connect }) => ({
    name,
    readsFirst: true,
    toReply,
    connect: (url: string) => connect(url).provider,
  })),
  ...packageWires.map(({ name, api, connect }) => ({
    name,
    // @ai-sdk/anthropic 4 throws an error without the reason if the first event is not JSON.
    readsFirst: !name.startsWith("@ai-sdk/anthropic, spec v4"),
    toReply: { chat, responses, messages, generate }[api].toReply,
    connect: (url: string) => aiSdkModel({ model: connect(url).model }),
  })),
];

describe.for(replies)("provider $name: events without data", ({ toReply, connect, readsFirst }) => {
  it.for<[title: string, event: string]>([
    ["an empty data field", "data:\n\n"],
    ["a name and an empty data field", "event: ping\ndata: \n\n"],
    ["a comment in the data field", "data: : OPENROUTER PROCESSING\n\n"],
  ])("are ignored if they have %s", async ([, event]) => {
    const { frames = [] } = toReply({ text: "Mild.", calls: [["call_1", "look", '{"q":1}']], end: "tools" });
    const read = await hear(connect, { frames: [...(readsFirst ? [event] : []), ...frames.flatMap((frame) => [frame, event])] });
    expect([read.text, read.calls.map(({ args }) => args), read.finish, read.error]).toEqual([
      "Mild.",
      [{ q: 1 }],
      "tool-calls",
      undefined,
    ]);
  });
});

it.for(vendors)("provider $name: reads a stream that is sent as application/json", async ({ toReply, connect }) => {
  const { frames } = toReply({ text: "Mild.", calls: [["call_1", "look", "{}"]], end: "tools" });
  const reply = { headers: { "content-type": "application/json" }, frames: [" \n", ...(frames ?? [])] };
  const { text, calls, finish } = await hear((url) => connect(url).provider, reply);
  expect([text, calls.length, finish]).toEqual(["Mild.", 1, "tool-calls"]);
});
