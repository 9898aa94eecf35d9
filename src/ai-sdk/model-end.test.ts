import {
  APICallError,
  EmptyResponseBodyError,
  InvalidPromptError,
  LoadAPIKeyError,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import type { ProviderError } from "../core/index.ts";
import { toModelError } from "./model-end.ts";

type Facts = Partial<ConstructorParameters<typeof APICallError>[0]>;

const apiCall = (facts: Facts): APICallError =>
  new APICallError({
    message: "It failed.",
    url: "https://a.test/?key=sk-abc123def456",
    requestBodyValues: { secret: 1 },
    ...facts,
  });
const said = (error: object): object => ({ error: { message: "Said.", ...error } });

describe("aiSdkModel with errors from the AI SDK", () => {
  it.for<[what: string, thrown: unknown, expected: Partial<ProviderError>]>([
    [
      'status 503 to the error code "overloaded"',
      apiCall({ statusCode: 503 }),
      { code: "overloaded", status: 503, retryable: true, message: "It failed." },
    ],
    ['status 401 to the error code "auth"', apiCall({ statusCode: 401 }), { code: "auth", retryable: false }],
    [
      "the retry-after header to the retryAfterMs field",
      apiCall({ statusCode: 429, responseHeaders: { "retry-after": "2" } }),
      { code: "rate-limit", retryable: true, retryAfterMs: 2_000 },
    ],
    [
      "the service's error in the data field to a code and a message",
      apiCall({ statusCode: 400, data: said({ code: "context_length_exceeded" }) }),
      { code: "context-too-long", message: "Said." },
    ],
    [
      "the service's error in the responseBody field to a code and a message",
      apiCall({ statusCode: 429, responseBody: JSON.stringify(said({ type: "insufficient_quota" })) }),
      { code: "rate-limit", retryable: false, message: "Said." },
    ],
    [
      'a response body that is not JSON to the error code "server"',
      apiCall({ statusCode: 500, responseBody: "<html>" }),
      { code: "server", status: 500 },
    ],
    [
      "status 429 to a non-retryable error if isRetryable is false",
      apiCall({ statusCode: 429, isRetryable: false }),
      { code: "rate-limit", retryable: false },
    ],
    [
      "status 498 to a retryable error, unlike the AI SDK",
      apiCall({ statusCode: 498, isRetryable: false }),
      { code: "overloaded", retryable: true },
    ],
    [
      "status 500 to a retryable error, even if isRetryable is false",
      apiCall({ statusCode: 500, isRetryable: false }),
      { code: "server", retryable: true },
    ],
    [
      "a stream that ended without a finish reason to a retryable error",
      { name: "AI_InvalidResponseDataError", message: "Response stream ended without a finish reason." },
      { code: "stream-ended-early", retryable: true },
    ],
    [
      'a connection error without a cause to the error code "network"',
      apiCall({ message: "Cannot connect to API: ?", isRetryable: true }),
      { code: "network", retryable: true },
    ],
    [
      "a stream error to a retryable error if isRetryable is true",
      { message: "It broke.", isRetryable: true },
      { code: "server", retryable: true },
    ],
    [
      'a connection error with the cause ECONNREFUSED to the error code "network"',
      apiCall({ cause: Object.assign(new Error("x"), { code: "ECONNREFUSED" }) }),
      { code: "network" },
    ],
    [
      'a missing API key to the error code "auth"',
      new LoadAPIKeyError({ message: "The key is missing." }),
      { code: "auth", message: "The key is missing." },
    ],
    [
      'an unsupported feature to the error code "bad-request"',
      new UnsupportedFunctionalityError({ functionality: "audio" }),
      { code: "bad-request" },
    ],
    [
      'an invalid prompt to the error code "bad-request"',
      new InvalidPromptError({ prompt: [], message: "?" }),
      { code: "bad-request", retryable: false },
    ],
    ['an empty response body to the error code "server"', new EmptyResponseBodyError(), { code: "server", retryable: true }],
    [
      "an AbortError to a non-retryable network error",
      new DOMException("This operation was aborted", "AbortError"),
      { code: "network", retryable: false },
    ],
    ['a thrown string to the error code "server"', "overloaded", { code: "server", message: "overloaded" }],
    ['a thrown undefined to the error code "server"', undefined, { code: "server", retryable: false }],
  ])("converts %s", ([, thrown, expected]) => {
    const error = toModelError(thrown);
    expect(error).toMatchObject(expected);
    expect(JSON.stringify(error)).not.toMatch(/sk-abc|secret/);
  });
});
