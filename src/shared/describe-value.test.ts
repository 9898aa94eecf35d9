import { describe, expect, it } from "vitest";
import { describeValue, quote } from "./texts.ts";

describe("describeValue", () => {
  it.for<[value: unknown, text: string]>([
    [undefined, "undefined"],
    [null, "null"],
    [true, "true"],
    [-1, "-1"],
    [Number.NaN, "NaN"],
    [10n, "a bigint"],
    [Symbol("secret"), "a symbol"],
    [() => 1, "a function"],
    ["10", '"10"'],
    ["", '""'],
    ["gpt-5 mini", '"gpt-5 mini"'],
    ["a".repeat(25), "a string of 25 characters"],
    ["sk-abcdefgh12345678", "a string of 19 characters"],
    ['{"a":1}', "a string of 7 characters"],
    [[], "an array of 0 items"],
    [["secret"], "an array of 1 item"],
    [{ password: "hunter2" }, "an object"],
    [Promise.resolve("secret"), "a promise"],
  ])("describes $0 as $1", ([value, text]) => {
    expect(describeValue(value)).toBe(text);
  });
});

describe("quote", () => {
  it.for<[what: string, name: string, quoted: string]>([
    ["a plain name", "search", '"search"'],
    ["a name with a quote and a line break", 'a"b\n', '"a\\"b\\n"'],
    ["a name of a million characters", "x".repeat(1_000_000), `"${"x".repeat(64)}…"`],
    [
      "a name with control characters",
      "x\u009b2J\u007f\u0085\u202e\u2066\u200f\ufeff",
      '"x\\u009b2J\\u007f\\u0085\\u202e\\u2066\\u200f\\ufeff"',
    ],
    ["a name with a tag character and a line separator", "\u{e0041}é😀\u2028", '"\\udb40\\udc41é😀\\u2028"'],
    ["a name with an emoji at the length limit", `${"x".repeat(63)}\u{1f600}`, `"${"x".repeat(63)}…"`],
  ])("quotes %s", ([, name, quoted]) => {
    expect(quote(name)).toBe(quoted);
  });
});
