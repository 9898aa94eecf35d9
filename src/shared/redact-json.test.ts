import { describe, expect, it } from "vitest";
import type { Json } from "../core/types/common.ts";
import { redactJson } from "./redact-secrets.ts";

const redacted = "[redacted]";

describe("redactJson", () => {
  it("leaves harmless values unchanged", () => {
    const value = { city: "Oslo", days: 3, exact: true, none: null, list: ["a", [{ b: -1.5 }]], maxTokens: 9, author: "Ada" };
    expect(redactJson(value)).toEqual(value);
  });

  it.for([
    "password",
    "PASSWORD",
    "userPasswd",
    "pass",
    "pass-phrase",
    "api_key",
    "apiKey",
    "X-API-Key",
    "openai api key",
    "token",
    "accessToken",
    "refresh_token",
    "secret",
    "client.secret",
    "SecretKey",
    "Authorization",
    "proxy-authorization",
    "cookie",
    "Set-Cookie",
    "privateKey",
    "aws_access_key_id",
    "credentials",
    "session_id",
    "connection-string",
    "pin",
    "cvv",
  ])("redacts any value under the key %j", (key) => {
    for (const value of ["x", 7, null, { deep: "x" }, ["x"]]) {
      expect(redactJson({ [key]: value, list: [{ [key]: value }] })).toEqual({ [key]: redacted, list: [{ [key]: redacted }] });
    }
  });

  it.for(["tokenCount", "max_tokens", "secretary", "keyboard", "monkey", "spinner", "passage", "author", "publicKey", "opinion"])(
    "keeps the value under the key %j",
    (key) => {
      expect(redactJson({ [key]: "x" })).toEqual({ [key]: "x" });
    },
  );

  it("redacts credentials in strings, keys and items", () => {
    expect(redactJson("call me with sk-abc123def456")).toBe(`call me with ${redacted}`);
    expect(redactJson({ header: ["Bearer abcdef123456"], "sk-abc123def456": 1 })).toEqual({
      header: [`Bearer ${redacted}`],
      [redacted]: 1,
    });
  });

  it("shortens long strings and keys, but checks the full key for a credential name", () => {
    expect(redactJson("x".repeat(501))).toBe(`${"x".repeat(500)}…`);
    expect(redactJson("x".repeat(500))).toHaveLength(500);
    expect(redactJson(`${"x".repeat(480)} sk-${"a1".repeat(300)} end`)).toBe(`${"x".repeat(480)} ${redacted}…`);
    const key = `${"x".repeat(5_000)}_password`;
    expect(redactJson({ [key]: "open" })).toEqual({ [`${"x".repeat(100)}…`]: redacted });
  });

  it("keeps at most 50 items of an array or an object", () => {
    const many = Array.from({ length: 51 }, (_, index) => index);
    expect(redactJson(many)).toEqual([...many.slice(0, 50), "…"]);
    expect(redactJson(many.slice(0, 50))).toEqual(many.slice(0, 50));
    const fields = Object.fromEntries(many.map((item) => [`f${item}`, item]));
    const { f50: _, ...first } = fields;
    expect(redactJson(fields)).toEqual({ ...first, "…": "…" });
    expect(redactJson(first)).toEqual(first);
  });

  it("keeps at most 8 levels of nesting", () => {
    expect(redactJson([[[[[[[[["deep"], "x"]]]]]]]])).toEqual([[[[[[[["…", "x"]]]]]]]]);
    let deep: Json = "end";
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    expect(JSON.stringify(redactJson(deep))).toBe('[[[[[[[["…"]]]]]]]]');
  });

  it("keeps fewer than 500 values in total", () => {
    const row: Json = Array.from({ length: 50 }, () => 1);
    const shown = JSON.stringify(redactJson(Array.from({ length: 50 }, () => row)));
    expect(shown.match(/1/g)?.length).toBeLessThan(500);
    expect(shown.length).toBeLessThan(1_200);
    const secrets: Json = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`token${at}token`, at]));
    const hidden = JSON.stringify(redactJson(Array.from({ length: 50 }, () => secrets)));
    expect(hidden.match(/redacted/g)?.length).toBeLessThan(500);
  });

  it("drops undefined fields", () => {
    expect(Object.keys(redactJson({ a: undefined, b: 1 }) ?? {})).toEqual(["b"]);
  });

  it("copies __proto__ and constructor as data", () => {
    const copy = redactJson(JSON.parse('{"__proto__":{"password":"x"},"constructor":"y"}'));
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"password":"[redacted]"},"constructor":"y"}');
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });
});
