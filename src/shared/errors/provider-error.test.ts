import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { ProviderErrorCode } from "../../core/types/common.ts";
import { defaultRetryable, isProviderError, providerError, type ProviderErrorFacts } from "./provider-error.ts";
import { toProviderError } from "./read-sdk-error.ts";

const openaiError = (status: number | undefined, error: object | undefined, headers: Record<string, string> = {}): Error =>
  OpenAI.APIError.generate(status, error === undefined ? undefined : { error }, undefined, new Headers(headers));

const fetchFailed = (code: string): TypeError =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(`connect ${code} 127.0.0.1:1`), { code }) });

describe("toProviderError", () => {
  it.for<[status: number, code: ProviderErrorCode, retryable: boolean]>([
    [400, "bad-request", false],
    [401, "auth", false],
    [402, "rate-limit", false],
    [403, "auth", false],
    [404, "bad-request", false],
    [407, "auth", false],
    [408, "network", true],
    [409, "server", true],
    [413, "context-too-long", false],
    [422, "bad-request", false],
    [429, "rate-limit", true],
    [498, "overloaded", true],
    [500, "server", true],
    [502, "server", true],
    [503, "overloaded", true],
    [504, "server", true],
    [529, "overloaded", true],
  ])("returns the code $1 and retryable: $2 for HTTP status $0", ([status, code, retryable]) => {
    expect(toProviderError(openaiError(status, { message: "No." }))).toEqual({
      name: "ProviderError",
      message: "No.",
      code,
      status,
      retryable,
    });
  });

  it.for<[of: string, message: string]>([
    ["OpenAI", "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."],
    ["the OpenAI Responses API", "Your input exceeds the context window of this model."],
    ["Anthropic", "prompt is too long: 213462 tokens > 200000 maximum"],
    ["Anthropic about max_tokens", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"],
    ["Gemini", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."],
    ["Bedrock", "Input is too long for requested model."],
    ["xAI", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
    ["Groq", "Please reduce the length of the messages or completion."],
    ["llama.cpp", "the request exceeds the available context size, try increasing it"],
  ])('reads the context overflow message of %s as "context-too-long", with or without a status', ([, message]) => {
    const expected = { code: "context-too-long", retryable: false, message };
    expect(toProviderError(openaiError(400, { message }))).toMatchObject(expected);
    expect(toProviderError({ message, type: "invalid_request_error" })).toMatchObject(expected);
  });

  it('reads the code "context_length_exceeded" as "context-too-long", with any message', () => {
    expect(toProviderError(openaiError(400, { message: "No.", code: "context_length_exceeded" }))).toMatchObject({
      code: "context-too-long",
    });
  });

  it("reads a limit on tokens per minute as a rate limit, not as a context overflow", () => {
    const error = openaiError(429, {
      message: "Request too large on tokens per min: too many tokens",
      code: "rate_limit_exceeded",
    });
    expect(toProviderError(error)).toMatchObject({ code: "rate-limit", retryable: true });
  });

  it.for<[what: string, thrown: unknown]>([
    ["OpenAI's used-up quota", openaiError(429, { message: "You exceeded your current quota.", code: "insufficient_quota" })],
    ["DeepSeek's empty balance", openaiError(402, { message: "Insufficient Balance" })],
    ["Anthropic's empty balance", openaiError(400, { message: "Your credit balance is too low to access the API." })],
    ["a used-up quota inside a stream", { type: "insufficient_quota", message: "no" }],
  ])("reads %s as a rate limit that is not retryable", ([, thrown]) => {
    expect(toProviderError(thrown)).toMatchObject({ code: "rate-limit", retryable: false });
  });

  it.for<[what: string, thrown: unknown, retryable: boolean]>([
    [
      "a connection reset mid-stream",
      new TypeError("terminated", { cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }) }),
      true,
    ],
    ["a refused connection", fetchFailed("ECONNREFUSED"), true],
    ["an unknown host name", fetchFailed("ENOTFOUND"), true],
    ["Safari's failed fetch", new TypeError("Load failed"), true],
    ["Safari's lost connection", new TypeError("The network connection was lost."), true],
    ["a lost connection in Cloudflare Workers", new Error("Network connection lost."), true],
    ["Chromium's failed fetch", new TypeError("Failed to fetch"), true],
    ["Firefox's failed fetch", new TypeError("NetworkError when attempting to fetch resource."), true],
    [
      "Bun's closed socket",
      Object.assign(new Error("The socket connection was closed unexpectedly."), { code: "ConnectionClosed" }),
      true,
    ],
    ["Node's socket hang-up", Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }), true],
    [
      "an AggregateError from failed connections",
      new AggregateError([Object.assign(new Error(""), { code: "ECONNREFUSED" })]),
      true,
    ],
    ["the OpenAI SDK's connection error", new OpenAI.APIConnectionError({ message: undefined }), true],
    ["the OpenAI SDK's timeout error", new OpenAI.APIConnectionTimeoutError(), true],
    ["the TimeoutError of an AbortSignal", new DOMException("The operation timed out.", "TimeoutError"), true],
    ["an AbortError", new DOMException("This operation was aborted", "AbortError"), false],
    ["the OpenAI SDK's abort error", new OpenAI.APIUserAbortError(), false],
  ])("reads %s as a network error", ([, thrown, retryable]) => {
    expect(toProviderError(thrown)).toMatchObject({ code: "network", retryable });
  });

  it.for<[what: string, thrown: unknown, retryable: boolean]>([
    ["a SyntaxError for a body that is not JSON", new SyntaxError("Unexpected token '<'"), true],
    ["the TypeError of a programming mistake", new TypeError("x is not a function"), false],
    ["an Error with an unknown message", new Error("odd"), false],
    ["a thrown string", "odd", false],
    ["the thrown value undefined", undefined, false],
    ["a thrown symbol", Symbol("odd"), false],
  ])("treats %s as a server error", ([, thrown, retryable]) => {
    expect(toProviderError(thrown)).toMatchObject({ code: "server", retryable });
  });

  it("keeps the fields of a provider error, thrown as a plain object or as an Error", () => {
    const error = providerError("overloaded", "Busy.", { status: 503, retryAfterMs: 10, retryable: false });
    expect(toProviderError(error)).toEqual(error);
    expect(toProviderError(Object.assign(new Error("Busy."), error, { headers: { cookie: "x" } }))).toEqual(error);
  });

  it("omits headers, bodies and credentials from its result", () => {
    const headers = { authorization: "Bearer abcDEF123456", "set-cookie": "session=1" };
    const error = openaiError(401, { message: "Incorrect API key provided: sk-abc123def456ghi789.", param: "private" }, headers);
    const said = JSON.stringify(toProviderError(error));
    expect(said).toContain("Incorrect API key provided: [redacted]");
    for (const secret of ["abcDEF123456", "session", "sk-abc123", "private"]) expect(said).not.toContain(secret);
  });

  it("returns an error that a JSON round trip does not change", () => {
    const error = toProviderError(fetchFailed("ECONNRESET"));
    expect(JSON.parse(JSON.stringify(error))).toEqual(error);
    expect(error.cause).toEqual({ name: "Error", message: "connect ECONNRESET 127.0.0.1:1", code: "ECONNRESET" });
  });

  it("does not throw for hostile or cyclic values", () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error("no");
        },
      },
    );
    const cyclic: { cause?: unknown; error?: unknown } = {};
    cyclic.cause = cyclic;
    cyclic.error = cyclic;
    expect(toProviderError(hostile)).toMatchObject({ code: "server", retryable: false });
    expect(toProviderError(cyclic)).toMatchObject({ code: "server", retryable: false });
    expect(
      toProviderError({
        headers: {
          get: () => {
            throw new Error("no");
          },
        },
      }),
    ).toMatchObject({ code: "server", retryable: false });
  });
});

describe("providerError", () => {
  it("derives retryable from the code unless retryable is given", () => {
    expect(providerError("rate-limit", "Slow.").retryable).toBe(true);
    expect(providerError("rate-limit", "Slow.", { retryable: false }).retryable).toBe(false);
    expect(providerError("auth", "No.").retryable).toBe(defaultRetryable("auth"));
  });

  it.for<[facts: ProviderErrorFacts, kept: object]>([
    [{ retryAfterMs: Number.POSITIVE_INFINITY }, { retryAfterMs: Number.MAX_SAFE_INTEGER }],
    [{ retryAfterMs: 1e300, status: Number.NaN }, { retryAfterMs: Number.MAX_SAFE_INTEGER }],
    [{ retryAfterMs: Number.NaN, status: Number.POSITIVE_INFINITY }, {}],
    [{ retryAfterMs: -1 }, {}],
  ])("from the fields %o, keeps only numbers that JSON can represent", ([facts, kept]) => {
    const { name: _, message: __, code: ___, retryable: ____, ...more } = providerError("rate-limit", "Slow.", facts);
    expect(more).toEqual(kept);
  });

  it("limits an infinite retry-after-ms header to the largest safe integer", () => {
    const error = openaiError(429, { message: "Slow." }, { "retry-after-ms": "9".repeat(400) });
    expect(toProviderError(error).retryAfterMs).toBe(Number.MAX_SAFE_INTEGER);
  });

  it("omits optional fields that are undefined", () => {
    expect(Object.keys(providerError("auth", "No.", { status: undefined, cause: undefined }))).toEqual([
      "name",
      "message",
      "code",
      "retryable",
    ]);
  });
});

describe("isProviderError", () => {
  it.for<[value: unknown, verdict: boolean]>([
    [providerError("server", "x"), true],
    [{ code: "toString", message: "x", retryable: true }, false],
    [{ code: "server", message: "x" }, false],
    [Object.assign(new Error("x"), { code: "ECONNRESET", retryable: true }), false],
    [null, false],
  ])("returns $1 for the value %j", ([value, verdict]) => {
    expect(isProviderError(value)).toBe(verdict);
  });
});
