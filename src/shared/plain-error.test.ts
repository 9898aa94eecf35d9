import { describe, expect, it } from "vitest";
import { toPlainError } from "./plain-error.ts";

describe("toPlainError", () => {
  it.for<[what: string, thrown: unknown, plain: object]>([
    ["an error", new RangeError("no"), { name: "RangeError", message: "no" }],
    [
      "an error with a code",
      Object.assign(new Error("no"), { code: "ENOENT" }),
      { name: "Error", message: "no", code: "ENOENT" },
    ],
    ["an error with a numeric code", new DOMException("no", "AbortError"), { name: "AbortError", message: "no" }],
    [
      "an error with a cause",
      new Error("a", { cause: "b" }),
      { name: "Error", message: "a", cause: { name: "Error", message: "b" } },
    ],
    [
      "an AggregateError",
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
    ["an error with a secret", new Error("Bearer abc.DEF_123"), { name: "Error", message: "Bearer [redacted]" }],
  ])("converts %s to plain data", ([, thrown, plain]) => {
    expect(toPlainError(thrown)).toEqual(plain);
    expect(JSON.parse(JSON.stringify(toPlainError(thrown)))).toEqual(plain);
  });

  it("copies a cycle of causes three levels deep", () => {
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

  it("shortens long messages without splitting a character", () => {
    expect(toPlainError("x".repeat(5_000)).message).toHaveLength(2_000);
    expect(toPlainError(`${"x".repeat(1_999)}😀`).message).toBe("x".repeat(1_999));
  });

  it("redacts a secret that extends across the length limit", () => {
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
      "a cycle without a message",
      (() => {
        const value: { self?: unknown } = {};
        value.self = value;
        return value;
      })(),
    ],
  ])("does not throw for %s", ([, thrown]) => {
    expect(toPlainError(thrown)).toEqual({ name: "Error", message: "The error cannot be read." });
  });
});
