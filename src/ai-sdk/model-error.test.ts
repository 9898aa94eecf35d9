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
    ["a 503 status", apiCall({ statusCode: 503 }), { code: "overloaded", status: 503, retryable: true, message: "It failed." }],
    ["a 401 status", apiCall({ statusCode: 401 }), { code: "auth", retryable: false }],
    [
      "a retry-after header",
      apiCall({ statusCode: 429, responseHeaders: { "retry-after": "2" } }),
      { code: "rate-limit", retryable: true, retryAfterMs: 2_000 },
    ],
    [
      "the service's error in parsed data",
      apiCall({ statusCode: 400, data: said({ code: "context_length_exceeded" }) }),
      { code: "context-too-long", message: "Said." },
    ],
    [
      "the service's error in the body text",
      apiCall({ statusCode: 429, responseBody: JSON.stringify(said({ type: "insufficient_quota" })) }),
      { code: "rate-limit", retryable: false, message: "Said." },
    ],
    ["a body that is not JSON", apiCall({ statusCode: 500, responseBody: "<html>" }), { code: "server", status: 500 }],
    ["a 429 marked as not retryable", apiCall({ statusCode: 429, isRetryable: false }), { code: "rate-limit", retryable: false }],
    [
      "a 498 that the package does not retry by default",
      apiCall({ statusCode: 498, isRetryable: false }),
      { code: "overloaded", retryable: true },
    ],
    [
      "a failed connection without a known cause",
      apiCall({ message: "Cannot connect to API: ?", isRetryable: true }),
      { code: "network", retryable: true },
    ],
    ["a stream error marked as retryable", { message: "It broke.", isRetryable: true }, { code: "server", retryable: true }],
    [
      "a connection error with a known cause",
      apiCall({ cause: Object.assign(new Error("x"), { code: "ECONNREFUSED" }) }),
      { code: "network" },
    ],
    [
      "a missing API key",
      new LoadAPIKeyError({ message: "The key is missing." }),
      { code: "auth", message: "The key is missing." },
    ],
    ["an unsupported feature", new UnsupportedFunctionalityError({ functionality: "audio" }), { code: "bad-request" }],
    ["an invalid prompt", new InvalidPromptError({ prompt: [], message: "?" }), { code: "bad-request", retryable: false }],
    ["an empty body", new EmptyResponseBodyError(), { code: "server", retryable: true }],
    ["an abort", new DOMException("This operation was aborted", "AbortError"), { code: "network", retryable: false }],
    ["a thrown string", "overloaded", { code: "server", message: "overloaded" }],
    ["a thrown undefined", undefined, { code: "server", retryable: false }],
  ])("converts %s", ([, thrown, expected]) => {
    const error = toModelError(thrown);
    expect(error).toMatchObject(expected);
    expect(JSON.stringify(error)).not.toMatch(/sk-abc|secret/);
  });
});
