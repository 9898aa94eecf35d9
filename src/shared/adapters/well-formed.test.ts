import { describe, expect, it } from "vitest";
import type { ModelRequest } from "../../core/types/provider.ts";
import { toWellFormed, toWellFormedRequest } from "./well-formed.ts";

const half = "\ud83d";

describe("toWellFormed", () => {
  it.each<[what: string, value: unknown, expected: unknown]>([
    ["replaces a lone surrogate", `a${half}b`, "a\ufffdb"],
    ["keeps a surrogate pair", "a😀b", "a😀b"],
    ["removes U+0000", "a\0b", "ab"],
    ["replaces surrogates that U+0000 separates", `${half}\0\ude00`, "😀"],
    ["changes keys and nested strings", { [half]: [{ a: half }] }, { "\ufffd": [{ a: "\ufffd" }] }],
    ["keeps other values", [1, null, undefined, true], [1, null, undefined, true]],
  ])("%s", (_, value, expected) => {
    expect(toWellFormed(value)).toEqual(expected);
  });

  it('keeps a key "__proto__" as data', () => {
    const clean = toWellFormed(JSON.parse(`{"__proto__":{"a":"${half}"}}`));
    expect(JSON.stringify(clean)).toBe('{"__proto__":{"a":"\ufffd"}}');
  });

  it("returns a well-formed value and an instance of a class unchanged", () => {
    const value = { url: new URL("https://a.test/"), list: ["😀"] };
    expect(toWellFormed(value)).toBe(value);
    expect(toWellFormed({ ...value, text: half }).url).toBe(value.url);
  });
});

describe("toWellFormedRequest", () => {
  const good = { role: "user", content: "Hi 😀" } as const;
  const bad = { role: "user", content: half } as const;
  const request = (messages: ModelRequest["messages"]): ModelRequest => ({ messages, tools: [], iteration: 0 });

  it("returns a well-formed request unchanged", () => {
    const given = request([good]);
    expect(toWellFormedRequest(given)).toBe(given);
  });

  it("keeps well-formed messages, and returns the same copy of a message each time", () => {
    const [one, other] = [toWellFormedRequest(request([good, bad])), toWellFormedRequest(request([good, bad]))];
    expect(one.messages[0]).toBe(good);
    expect(one.messages[1]).toEqual({ role: "user", content: "\ufffd" });
    expect(one.messages[1]).toBe(other.messages[1]);
  });
});
