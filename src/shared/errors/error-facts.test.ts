import OpenAI from "openai";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ProviderErrorCode } from "../../core/types/common.ts";
import { readErrorFacts } from "./error-facts.ts";
import { toProviderError } from "./read-sdk-error.ts";

const openaiError = (status: number | undefined, error: object | undefined, headers: Record<string, string> = {}): Error =>
  OpenAI.APIError.generate(status, error === undefined ? undefined : { error }, undefined, new Headers(headers));

const withName = (name: string, message = ""): Error => Object.assign(new Error(message), { name });

function nestArrays(depth: number): unknown {
  return JSON.parse("[".repeat(depth) + "]".repeat(depth));
}

afterEach(() => {
  vi.useRealTimers();
});

describe("toProviderError with SDK errors", () => {
  it.for<[where: string, thrown: unknown]>([
    ["the status field", { status: 429 }],
    ["the statusCode field", { statusCode: 429 }],
    ["the response.status field", { response: { status: 429 } }],
    ["a numeric code", { code: 429 }],
    ["a code that is a numeric string", { code: "429" }],
    ["the code of the error body", { error: { code: 429 } }],
    ["the cause", new Error("no", { cause: { status: 429 } })],
  ])("finds the status in %s", ([, thrown]) => {
    expect(toProviderError(thrown)).toMatchObject({ code: "rate-limit", status: 429, retryable: true });
  });

  it.for<[of: string, thrown: unknown, code: ProviderErrorCode, message: string]>([
    ["an OpenAI error without a response", openaiError(undefined, undefined), "network", "Connection error."],
    [
      "an OpenAI error in a stream",
      new OpenAI.APIError(undefined, { type: "server_error", message: "It broke." }, undefined, undefined),
      "server",
      "It broke.",
    ],
    ["an OpenRouter error", { code: 502, message: "Upstream failed." }, "server", "Upstream failed."],
    ["a vLLM error", { object: "error", message: "Bad.", type: "BadRequestError", code: 400 }, "bad-request", "Bad."],
    [
      "an Anthropic error",
      Object.assign(new Error('{"type":"error"}'), {
        error: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
      }),
      "overloaded",
      "Overloaded",
    ],
    [
      "an Anthropic error with a status",
      Object.assign(new Error('529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'), {
        status: 529,
      }),
      "overloaded",
      "Overloaded",
    ],
    [
      "a Gemini error in a stream",
      withName("ApiError", 'got status: UNAVAILABLE. {"error":{"code":503,"message":"Overloaded.","status":"UNAVAILABLE"}}'),
      "overloaded",
      "Overloaded.",
    ],
    [
      "a Gemini stream that was cut off",
      new Error("Incomplete JSON segment at the end"),
      "network",
      "Incomplete JSON segment at the end",
    ],
    [
      "a Gemini error",
      withName("ApiError", '{"error":{"code":429,"message":"Slow.","status":"RESOURCE_EXHAUSTED"}}'),
      "rate-limit",
      "Slow.",
    ],
    [
      "an error from Gemini's OpenAI-compatible endpoint",
      new Error('[{"error":{"code":503,"message":"Busy.","status":"UNAVAILABLE"}}]'),
      "overloaded",
      "Busy.",
    ],
  ])("reads the code and message of %s", ([, thrown, code, message]) => {
    expect(toProviderError(thrown)).toMatchObject({ code, message });
  });

  it.for<[what: string, headers: unknown, retryAfterMs: number | undefined]>([
    ["seconds", new Headers({ "retry-after": "7" }), 7_000],
    ["fractions of a second", new Headers({ "retry-after": "0.5" }), 500],
    ["retry-after-ms in preference to seconds", new Headers({ "retry-after": "7", "retry-after-ms": "6543" }), 6_543],
    [
      "a date relative to the server's Date header",
      new Headers({ "retry-after": "Fri, 31 Dec 2027 23:59:59 GMT", date: "Fri, 31 Dec 2027 23:59:29 GMT" }),
      30_000,
    ],
    ["a date relative to the local clock", { "retry-after": "Fri, 31 Dec 2027 23:59:59 GMT" }, 59_000],
    ["a past date as 0", { "retry-after": "Fri, 31 Dec 2021 23:59:59 GMT" }, 0],
    ["a header name in any letter case", { "Retry-After": "2" }, 2_000],
    ["a Map of headers", new Map([["retry-after", "3"]]), 3_000],
    ["a word as unknown", { "retry-after": "soon" }, undefined],
    ["negative milliseconds as unknown", { "retry-after-ms": "-5" }, undefined],
    ["negative seconds as unknown", { "retry-after": "-5" }, undefined],
    ["seconds with a plus sign as unknown", { "retry-after": "+10" }, undefined],
    ["seconds with spaces", { "retry-after": " 7 " }, 7_000],
    ["seconds with a unit as unknown", { "retry-after": "60s" }, undefined],
    ["a number with words, as an unknown delay", { "retry-after": "5 minutes" }, undefined],
    ["seconds with a parameter as unknown", { "retry-after": "10;q=1" }, undefined],
    ["seconds in exponential notation as unknown", { "retry-after": "1e3" }, undefined],
    ["an ISO date as unknown", { "retry-after": "2027-12-31" }, undefined],
    [
      "the first of repeated headers",
      new Headers([
        ["retry-after", "2"],
        ["retry-after", "30"],
      ]),
      2_000,
    ],
    ["the first value of an array", { "retry-after": ["2", "3"] }, 2_000],
    ["an empty array as unknown", { "retry-after": [] }, undefined],
    ["a numeric value", { "retry-after": 2, "x-other": 1 }, 2_000],
    ["NaN as unknown", { "retry-after": Number.NaN }, undefined],
    [
      "the first of repeated dates",
      { "retry-after": "Fri, 31 Dec 2027 23:59:59 GMT, Fri, 31 Dec 2027 23:59:59 GMT", date: "Fri, 31 Dec 2027 23:59:29 GMT" },
      30_000,
    ],
    [
      "a date in an obsolete format",
      { "retry-after": "Friday, 31-Dec-27 23:59:59 GMT", date: "Fri Dec 31 23:59:29 2027" },
      30_000,
    ],
    ["seconds if retry-after-ms contains words", { "retry-after-ms": "5 apples", "retry-after": "9" }, 9_000],
    ["seconds if retry-after-ms is infinite", { "retry-after-ms": "Infinity", "retry-after": "9" }, 9_000],
    ["missing headers as unknown", undefined, undefined],
  ])("reads the Retry-After header: %s", ([, headers, retryAfterMs]) => {
    vi.useFakeTimers({ now: Date.parse("Fri, 31 Dec 2027 23:59:00 GMT") });
    for (const thrown of [
      { status: 429, headers },
      { status: 429, responseHeaders: headers },
      { status: 429, response: { headers } },
    ]) {
      expect(toProviderError(thrown).retryAfterMs).toBe(retryAfterMs);
    }
  });

  it("reads the delay from Google's RetryInfo", () => {
    const details = [
      { "@type": "type.googleapis.com/google.rpc.Help" },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" },
    ];
    expect(toProviderError({ error: { code: 429, message: "Slow.", details } })).toMatchObject({
      code: "rate-limit",
      retryAfterMs: 34_500,
    });
  });

  // Slow patterns would need minutes for these bodies.
  it.for<[of: string, body: object]>([
    ["a delay of many digits", { details: [{ retryDelay: "1".repeat(200_000) }] }],
    ["a long code word", { code: `${"image".repeat(200_000)}!` }],
    ["a deep path", { detail: [{ loc: nestArrays(20_000), msg: "No." }] }],
  ])("reads a body with %s", ([, body]) => {
    expect(toProviderError({ status: 400, error: { message: "No.", ...body } })).toEqual({
      name: "ProviderError",
      code: "bad-request",
      message: "No.",
      status: 400,
      retryable: false,
    });
  });

  it("keeps a limited number of messages from an error body", () => {
    const nest = (depth: number): object | string =>
      depth === 0
        ? "No."
        : Object.fromEntries(["message", "detail", "msg", "errors"].map((field) => [field, nest(depth - 1)] as const));
    const { message, messages } = readErrorFacts({ status: 400, error: nest(4) });
    expect([message, messages.length]).toEqual(["No.", 30]);
  });

  it("sets retryable from the x-should-retry header", () => {
    expect(toProviderError(openaiError(429, {}, { "x-should-retry": "false" })).retryable).toBe(false);
    expect(toProviderError(openaiError(400, {}, { "x-should-retry": "true" })).retryable).toBe(true);
  });

  it("uses the title of an HTML page as the message", () => {
    const page = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
    expect(toProviderError(Object.assign(new Error(`502 ${page}`), { status: 502 }))).toMatchObject({
      code: "server",
      message: "The server sent an HTML page: 502 Bad Gateway",
    });
    expect(toProviderError("<html><body>x</body></html>").message).toBe(
      "The server sent an HTML page. Check the base URL of the client.",
    );
  });
});
