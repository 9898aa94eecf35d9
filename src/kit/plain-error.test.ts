// What leaves the process of an error, and what does not.

import { describe, expect, it } from "vitest";
import { redactSecrets, toPlainError } from "./plain-error.ts";

const jwt = ["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmNHl0w5N"].join(".");

describe("redactSecrets", () => {
  it.for<[what: string, text: string, clean: string]>([
    ["an OpenAI key", "key sk-abc123DEF456ghi", "key [redacted]"],
    ["an OpenAI project key", "sk-proj-a1_b2-c3d4e5f6!", "[redacted]!"],
    ["an Anthropic key", "'sk-ant-api03-AAAA1111bbbb'", "'[redacted]'"],
    ["a Stripe key", "sk_live_4eC39HqLyjWDarjt", "[redacted]"],
    ["a Groq key", "gsk_a1b2c3d4e5f6g7h8i9", "[redacted]"],
    ["a GitHub token", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "[redacted]"],
    ["a Slack token", "xoxb-123456789-abc", "[redacted]"],
    ["a Google key", "AIzaSyA1234567890abcdefghijk", "[redacted]"],
    ["an AWS key id", "AKIAIOSFODNN7EXAMPLE", "[redacted]"],
    ["a Google access token", "ya29.a0AfH6SMBx", "[redacted]"],
    ["a JSON web token", `token ${jwt}.`, "token [redacted]."],
    ["a bearer token", "Authorization: Bearer abc.DEF_123", "Authorization: Bearer [redacted]"],
    ["basic credentials", "authorization: basic dXNlcjpwYXNz", "authorization: basic [redacted]"],
    ["a password in a URL", "postgres://admin:hunter2@db:5432/x", "postgres://[redacted]@db:5432/x"],
    ["a field of JSON", '{"api_key": "hunter2", "n": 1}', '{"api_key": "[redacted]", "n": 1}'],
    ["a header", "x-api-key: 0123456789abcdef", "x-api-key: [redacted]"],
    ["an assignment", "DB_PASSWORD=hunter2 next", "DB_PASSWORD=[redacted] next"],
    ["a query parameter", "https://x.test/v1?alt=sse&key=hunter2&n=1", "https://x.test/v1?alt=sse&key=[redacted]&n=1"],
    ["a private key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "[redacted]"],
    ["a private key that is cut off", "-----BEGIN PRIVATE KEY-----\nMIIE", "[redacted]"],
    ["several", "sk-abc123DEF456 and Bearer abc.DEF_123", "[redacted] and Bearer [redacted]"],
  ])("takes out %s", ([, text, clean]) => {
    expect(redactSecrets(text)).toBe(clean);
    expect(redactSecrets(clean)).toBe(clean);
  });

  it.for([
    "Basic authentication failed",
    "the bearer of this",
    "key_not_found_error",
    "sk-learn-pipeline",
    "task_12345678 risk-management-2024",
    "max_tokens=4096",
    "https://example.com/a:b?page=2",
    "the secret is out: nobody knows",
    "password: must be a string",
  ])("leaves %j as it is", (text) => {
    expect(redactSecrets(text)).toBe(text);
  });

  it.for([
    "sk-",
    "eyJ-",
    "eyJaaaaaaaa.",
    "://",
    "Bearer ",
    '"token":"',
    "api-key:",
    "a-token",
    "?key=",
    "-----BEGIN PRIVATE KEY-----",
    "<",
    "=:",
  ])("takes time in proportion to the length of many %j", (piece) => {
    expect(redactSecrets(piece.repeat(20_000)).length).toBeGreaterThan(0);
  });
});

describe("toPlainError", () => {
  it.for<[what: string, thrown: unknown, plain: object]>([
    ["an error", new RangeError("no"), { name: "RangeError", message: "no" }],
    [
      "an error with a code",
      Object.assign(new Error("no"), { code: "ENOENT" }),
      { name: "Error", message: "no", code: "ENOENT" },
    ],
    ["a code that is a number", new DOMException("no", "AbortError"), { name: "AbortError", message: "no" }],
    ["a cause", new Error("a", { cause: "b" }), { name: "Error", message: "a", cause: { name: "Error", message: "b" } }],
    [
      "several errors",
      new AggregateError([new TypeError("x")], "all"),
      { name: "AggregateError", message: "all", cause: { name: "TypeError", message: "x" } },
    ],
    ["a string", "no", { name: "Error", message: "no" }],
    ["undefined", undefined, { name: "Error", message: "undefined" }],
    ["a symbol", Symbol("s"), { name: "Error", message: "Symbol(s)" }],
    ["a bigint", 5n, { name: "Error", message: "5" }],
    ["an object", { message: "no", extra: 1 }, { name: "Error", message: "no" }],
    ["an object without a message", { reason: "no" }, { name: "Error", message: '{"reason":"no"}' }],
    ["an array", ["no"], { name: "Error", message: "no" }],
    ["a secret", new Error("Bearer abc.DEF_123"), { name: "Error", message: "Bearer [redacted]" }],
  ])("makes plain data of %s", ([, thrown, plain]) => {
    expect(toPlainError(thrown)).toEqual(plain);
    expect(JSON.parse(JSON.stringify(toPlainError(thrown)))).toEqual(plain);
  });

  it("follows causes three deep, and no further where they go round", () => {
    const error = new Error("round");
    error.cause = error;
    expect(toPlainError(error)).toEqual({
      name: "Error",
      message: "round",
      cause: {
        name: "Error",
        message: "round",
        cause: { name: "Error", message: "round", cause: { name: "Error", message: "round" } },
      },
    });
  });

  it("cuts long messages, and never in the middle of a character", () => {
    expect(toPlainError("x".repeat(5_000)).message).toHaveLength(2_000);
    expect(toPlainError(`${"x".repeat(1_999)}😀`).message).toBe("x".repeat(1_999));
  });

  it("finds a secret that lies across the cut", () => {
    const message = `${"x ".repeat(994)}sk-${"abc123".repeat(10)}`;
    expect(toPlainError(message).message).toBe(`${"x ".repeat(994)}[redacted]`);
  });

  it.for<[what: string, thrown: object]>([
    [
      "getters that throw",
      {
        get message() {
          throw new Error("no");
        },
      },
    ],
    [
      "a revoked proxy",
      (() => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
      })(),
    ],
    [
      "a cycle without a message",
      (() => {
        const value: { self?: unknown } = {};
        value.self = value;
        return value;
      })(),
    ],
  ])("survives %s", ([, thrown]) => {
    expect(toPlainError(thrown)).toEqual({ name: "Error", message: "an error that cannot be read" });
  });
});
