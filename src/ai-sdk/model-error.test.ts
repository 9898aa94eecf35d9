import {
  APICallError,
  EmptyResponseBodyError,
  InvalidPromptError,
  LoadAPIKeyError,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import type { ProviderError } from "../core/provider-kit.ts";
import { toModelError } from "./model-error.ts";

type Facts = Partial<ConstructorParameters<typeof APICallError>[0]>;

const apiCall = (facts: Facts): APICallError =>
  new APICallError({
    message: "It failed.",
    url: "https://a.test/?key=sk-abc123def456",
    requestBodyValues: { secret: 1 },
    ...facts,
  });
const said = (error: object): object => ({ error: { message: "Said.", ...error } });

describe("toModelError", () => {
  it.for<[what: string, thrown: unknown, expected: Partial<ProviderError>]>([
    ["a status", apiCall({ statusCode: 503 }), { code: "overloaded", status: 503, retryable: true, message: "It failed." }],
    ["a refused key", apiCall({ statusCode: 401 }), { code: "auth", retryable: false }],
    [
      "how long to wait",
      apiCall({ statusCode: 429, responseHeaders: { "retry-after": "2" } }),
      { code: "rate-limit", retryable: true, retryAfterMs: 2_000 },
    ],
    [
      "the words of the service as data",
      apiCall({ statusCode: 400, data: said({ code: "context_length_exceeded" }) }),
      { code: "context-too-long", message: "Said." },
    ],
    [
      "the words of the service as text",
      apiCall({ statusCode: 429, responseBody: JSON.stringify(said({ type: "insufficient_quota" })) }),
      { code: "rate-limit", retryable: false, message: "Said." },
    ],
    ["a body that is no JSON", apiCall({ statusCode: 500, responseBody: "<html>" }), { code: "server", status: 500 }],
    ["the package's no", apiCall({ statusCode: 429, isRetryable: false }), { code: "rate-limit", retryable: false }],
    [
      "a no that is the package's rule",
      apiCall({ statusCode: 498, isRetryable: false }),
      { code: "overloaded", retryable: true },
    ],
    [
      "a connection that failed for an unknown cause",
      apiCall({ message: "Cannot connect to API: ?", isRetryable: true }),
      { code: "network", retryable: true },
    ],
    ["a yes in a stream", { message: "It broke.", isRetryable: true }, { code: "server", retryable: true }],
    ["a known cause", apiCall({ cause: Object.assign(new Error("x"), { code: "ECONNREFUSED" }) }), { code: "network" }],
    ["a missing key", new LoadAPIKeyError({ message: "The key is missing." }), { code: "auth", message: "The key is missing." }],
    ["what a package cannot do", new UnsupportedFunctionalityError({ functionality: "audio" }), { code: "bad-request" }],
    ["a prompt that is none", new InvalidPromptError({ prompt: [], message: "?" }), { code: "bad-request", retryable: false }],
    ["an empty body", new EmptyResponseBodyError(), { code: "server", retryable: true }],
    ["an abort", new DOMException("This operation was aborted", "AbortError"), { code: "network", retryable: false }],
    ["a word", "overloaded", { code: "server", message: "overloaded" }],
    ["nothing", undefined, { code: "server", retryable: false }],
  ])("reads %s", ([, thrown, expected]) => {
    const error = toModelError(thrown);
    expect(error).toMatchObject(expected);
    expect(JSON.stringify(error)).not.toMatch(/sk-abc|secret/);
  });
});
