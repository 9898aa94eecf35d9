import { describe, expect, it } from "vitest";
import { googleGenerateContent } from "../../src/google/index.ts";
import { connectGoogle, type GoogleWireOptions } from "./google-client.ts";
import { callPart, chunk, piece, says, stop, text } from "./google-frames.ts";
import { connectReply, nothing } from "./connect-reply.ts";
import { ask, createCall, runIteration, type Iteration } from "./provider-iteration.ts";
import { json, type RawReply } from "./raw-sse-server.ts";

const oneCall = says(callPart("a", "f", { n: 1 }));
const whole = { id: "a", name: "f", args: { n: 1 } };
const spent: Iteration["usage"] = { inputTokens: 3, outputTokens: 2, totalTokens: 5 };
const connect = (reply: RawReply, options: GoogleWireOptions = {}): ReturnType<typeof connectReply> =>
  connectReply(reply, (url) => googleGenerateContent({ client: connectGoogle(url, options).client, model: "m" }));

async function read(reply: RawReply, options: GoogleWireOptions = {}): Promise<Iteration> {
  return runIteration((await connect(reply, options)).provider, ask("hi"));
}

describe("googleGenerateContent over a real connection", () => {
  it.for([1, 2, 3, 4, 5])("reads multi-byte characters that arrive in %i-byte pieces", async (pieceBytes) => {
    const frames = [text("Zoë 😀 日本\u2028"), says(callPart("a", "f", { ö: "😀" })), stop()];
    const said: Iteration = {
      ...nothing,
      text: "Zoë 😀 日本\u2028",
      calls: [{ id: "a", name: "f", args: { ö: "😀" } }],
      usage: spent,
      finish: "tool-calls",
    };
    expect(await read({ frames }, { pieceBytes })).toEqual(said);
    expect(await read({ frames: [`: a comment\n\n${frames.join("").replaceAll("\r\n", "\r")}`] }, { pieceBytes })).toEqual(said);
  });

  it.for<[what: string, reply: RawReply, iteration: Partial<Iteration>]>([
    ["the stream ends after text", { frames: [text("Hel")] }, { text: "Hel" }],
    ["the stream ends after the token counts", { frames: [text("Hel"), stop("")] }, { text: "Hel", usage: spent }],
    ["the stream ends within a call", { frames: [piece({ name: "f", willContinue: true })] }, {}],
    ["the body is empty", { frames: [] }, {}],
    [
      "the response is an HTML page with status 200",
      { headers: { "content-type": "text/html" }, frames: ["<!doctype html><title>Sign in</title>\n\n"] },
      { error: expect.objectContaining({ code: "server", retryable: false, message: "The server sent an HTML page: Sign in" }) },
    ],
  ])("reports no finish reason if %s", async ([, reply, iteration]) => {
    expect(await read(reply)).toEqual({ ...nothing, ...iteration });
  });

  it.for([undefined, 1, 5])("accepts [DONE] after the finish reason, in pieces of %s bytes", async (pieceBytes) => {
    const frames = [text("Hello"), stop(), "data: [DONE]\r\n\r\n"];
    const pieces = pieceBytes === undefined ? {} : { pieceBytes };
    expect(await read({ frames }, pieces)).toEqual({ ...nothing, text: "Hello", usage: spent, finish: "stop" });
  });

  it("reports an error if [DONE] arrives before the finish reason", async () => {
    const { text: said, finish, error } = await read({ frames: [text("Hel"), "data: [DONE]\r\n\r\n"] });
    expect([said, finish, error?.code]).toEqual(["Hel", undefined, "server"]);
  });

  it("does not report a finish reason if the stream ends after a complete call", async () => {
    expect(await read({ frames: [oneCall] })).toEqual({ ...nothing, calls: [whole] });
  });

  it.for<[what: string, reply: RawReply, error: object]>([
    [
      "the connection drops",
      { frames: [text("Hel")], ending: "drop" },
      { code: "network", retryable: true, message: "terminated: other side closed" },
    ],
    [
      "the service reports an overload within the stream",
      { frames: [text("Hel"), chunk({ error: { code: 503, message: "Overloaded.", status: "UNAVAILABLE" } })] },
      { code: "overloaded", retryable: true, message: "Overloaded.", status: 503 },
    ],
    [
      "the service reports a rate limit within the stream",
      {
        frames: [
          text("Hel"),
          chunk({ error: { code: 429, message: "Slow.", status: "RESOURCE_EXHAUSTED", details: [{ retryDelay: "7s" }] } }),
        ],
      },
      { code: "rate-limit", retryable: true, message: "Slow.", retryAfterMs: 7_000 },
    ],
    ["a chunk is not JSON", { frames: [text("Hel"), "data: {oops\r\n\r\n"] }, { code: "server", retryable: true }],
    // If no blank line follows the last event, the SDK throws, even if the event is complete.
    [
      "the stream ends within a chunk",
      { frames: [text("Hel"), stop().slice(0, 40)] },
      { code: "network", retryable: true, message: "Incomplete JSON segment at the end" },
    ],
    [
      "the blank line after the last chunk is missing",
      { frames: [text("Hel"), stop().trimEnd()] },
      { code: "network", retryable: true },
    ],
  ])("keeps the text and reports the error if %s", async ([, reply, error]) => {
    const iteration = await read(reply);
    expect(iteration).toEqual({ ...nothing, text: "Hel", error: iteration.error });
    expect(iteration.error).toMatchObject(error);
  });

  it.for<[what: string, frames: readonly string[], ending: RawReply["ending"]]>([
    ["drops", [], "drop"],
    ["ends with half a chunk", ["data: {"], "end"],
  ])("reports a network error if the connection %s after the finish reason", async ([, frames, ending]) => {
    const iteration = await read({ frames: [text("Hello"), stop(), ...frames], ending: ending ?? "end" });
    expect(iteration).toEqual({ ...nothing, text: "Hello", usage: spent, error: iteration.error });
    expect(iteration.error).toMatchObject({ code: "network", retryable: true });
  });

  const code = says({ executableCode: { language: "PYTHON", code: "print(6 * 7)" } });
  const codeWithReason = chunk({
    candidates: [
      { content: { parts: [{ executableCode: { language: "PYTHON", code: "print(42 + 100)" } }] }, finishReason: "STOP" },
    ],
  });
  const result = says({ codeExecutionResult: { outcome: "OUTCOME_OK", output: "142" } });

  it.for<[what: string, frames: readonly string[], line: string]>([
    ["executable code", [codeWithReason], "Hel"],
    ["a code result", [codeWithReason, result], "Hel"],
    ["text after a code result", [codeWithReason, result, text("lo")], "Hello"],
    ["code after a finish reason", [stop(), code], "Hel"],
    ["text after a finish reason, code and a code result", [stop(), code, result, text("lo")], "Hello"],
  ])("reports no finish reason if the last part of the stream is %s", async ([, frames, line]) => {
    const { text: said, finish, error } = await read({ frames: [text("Hel"), code, result, ...frames] });
    expect([said, finish, error]).toEqual([line, undefined, undefined]);
  });

  it.for<[what: string, frames: readonly string[], finish: string]>([
    ["after two code executions", [codeWithReason, result, text("lo"), stop()], "stop"],
    [
      "after a chunk with a code result and text",
      [code, says({ codeExecutionResult: { output: "" } }, { text: "lo" }), stop()],
      "stop",
    ],
    [
      "in a chunk with the whole answer",
      [
        chunk({
          candidates: [
            { content: { parts: [{ executableCode: {} }, { codeExecutionResult: {} }, { text: "lo" }] }, finishReason: "STOP" },
          ],
        }),
      ],
      "stop",
    ],
    ["after text that follows code without a result", [codeWithReason, text("lo"), stop()], "stop"],
    ['"MAX_TOKENS" directly after code', [text("lo"), code, stop("MAX_TOKENS")], "length"],
  ])("accepts the finish reason %s", async ([, frames, end]) => {
    const { text: said, finish, error } = await read({ frames: [text("Hel"), ...frames] });
    expect([said, finish, error]).toEqual(["Hello", end, undefined]);
  });

  it.for<[when: string, frames: string]>([
    ["in a chunk with executable code", codeWithReason.replace("STOP", "DONE")],
    ["before executable code", stop("DONE") + code],
  ])('ignores the value "DONE", which finishReasons maps to "stop", if the value arrives %s', async ([, frames]) => {
    const connected = await connectReply({ frames: [text("Hel"), frames, result] }, (url) =>
      googleGenerateContent({ client: connectGoogle(url).client, model: "m", finishReasons: { DONE: "stop" } }),
    );
    const { text: said, finish, error } = await runIteration(connected.provider, ask("hi"));
    expect([said, finish, error]).toEqual(["Hel", undefined, undefined]);
  });

  it.for<[title: string, status: number, said: object, error: object]>([
    [
      "status 400 with a message about an input that is too long",
      400,
      {
        message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        status: "INVALID_ARGUMENT",
      },
      { code: "context-too-long", retryable: false },
    ],
    [
      "status 400 with a message about an unknown field",
      400,
      { message: "Unknown name.", status: "INVALID_ARGUMENT" },
      { code: "bad-request", retryable: false, message: "Unknown name." },
    ],
    [
      "status 400 with an API key in the message, and redacts the key",
      400,
      { message: "API key not valid. AIzaSyA1234567890abcdefghijklmnopqrstuv", status: "INVALID_ARGUMENT" },
      { code: "auth", message: "API key not valid. [redacted]" },
    ],
    ["status 401", 401, { message: "No.", status: "UNAUTHENTICATED" }, { code: "auth", retryable: false }],
    ["status 403", 403, { message: "No.", status: "PERMISSION_DENIED" }, { code: "auth", retryable: false }],
    ["status 404", 404, { message: "No such model.", status: "NOT_FOUND" }, { code: "bad-request", retryable: false }],
    [
      "status 429 with a retry delay in the body",
      429,
      {
        message: "You exceeded your current quota.",
        status: "RESOURCE_EXHAUSTED",
        details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }],
      },
      { code: "rate-limit", retryable: true, retryAfterMs: 34_500 },
    ],
    ["status 500", 500, { message: "Internal.", status: "INTERNAL" }, { code: "server", retryable: true }],
    ["status 503", 503, { message: "The model is overloaded.", status: "UNAVAILABLE" }, { code: "overloaded", retryable: true }],
  ])("reports only an error for %s", async ([, status, said, error]) => {
    const iteration = await read(json(status, { error: { code: status, ...said } }));
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

  it.for<[reason: string, finish: string]>([
    ["STOP", "tool-calls"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content-filter"],
    ["MALFORMED_FUNCTION_CALL", "malformed-call"],
    ["TOO_MANY_TOOL_CALLS", "error"],
    ["CONTINUATION", "length"],
    ["FINISH_REASON_UNSPECIFIED", "unknown"],
    ["WEATHER", "unknown"],
  ])('after a complete call, maps the service value "%s" to the finish reason "%s"', async ([reason, finish]) => {
    expect(await read({ frames: [oneCall, stop(reason)] })).toEqual({ ...nothing, calls: [whole], usage: spent, finish });
  });

  it("ends the stream and closes the connection when the signal fires while the server is silent", async () => {
    const { server, provider } = await connect({ frames: [text("Hel")], ending: "stall" });
    const controller = new AbortController();
    const onChunk: (read: { readonly type: string }) => void = ({ type }) => {
      if (type === "text-delta") controller.abort();
    };
    const iteration = await runIteration(provider, ask("hi"), { signal: controller.signal, onChunk });
    expect(iteration).toEqual({ ...nothing, text: "Hel", error: iteration.error });
    expect(iteration.error).toMatchObject({ code: "network", retryable: false });
    await server.left;
  });

  it("reports a network error if the signal has already fired", async () => {
    const { provider } = await connect({ ending: "stall" });
    const controller = new AbortController();
    controller.abort();
    const iteration = await runIteration(provider, ask("hi"), { signal: controller.signal });
    expect(iteration.error).toMatchObject({ code: "network", retryable: false });
  });

  // The adapter has to close the connection. The SDK alone would leave it open.
  it("closes the connection when the stream's reader stops", async () => {
    const { server, provider } = await connect({ frames: [text("Hel")], ending: "stall" });
    for await (const { type } of provider.stream(ask("hi"), createCall())) if (type === "text-delta") break;
    await server.left;
  });

  it("closes the connection after a chunk that is not JSON", async () => {
    const { server, provider } = await connect({ frames: ["data: {oops\r\n\r\n"], ending: "stall" });
    expect((await runIteration(provider, ask("hi"))).error).toMatchObject({ code: "server" });
    await server.left;
  });
});
