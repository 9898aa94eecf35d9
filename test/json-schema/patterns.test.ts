import { expect, it } from "vitest";
import type { JsonSchema } from "turnwright";
import { fromJsonSchema } from "turnwright/json-schema";
import { linesOf } from "./lines-of.ts";

it.for<[pattern: string, text: string]>([
  ["^.$", "\u2028"],
  ["^.$", "😀"],
  ["^\\s$", "\u00a0"],
  ["^[\\s\\d]$", "\ufeff"],
  ["^\\S$", "\u00a0"],
  ["^[^\\S]$", "\u3000"],
  ["^[\\S]$", "\v"],
  ["^\\u{1F600}\\uD83D\\uDE00$", "😀😀"],
  ["^(?<name>[\\u0041-\\u005a]+)\\x41$", "BA"],
  ["^\\cA\\0\\v[\\b]$", "\u0001\0\v\b"],
  ["^[[&]$", "["],
  ["^[^]$", "\n"],
  ["a$", "a\n"],
  ["\\bé", "é"],
  ["^\\p{Script=Greek}\\p{Lu}\\P{L}$", "αA1"],
  ["^\\/[\\]\\-\\\\]+\\$", "/]-$"],
  ["^\\/[\\]\\-\\\\]+\\$", "/]-\\$"],
  ["b", "abc"],
  ["^(?:a|ab)(?:c|bcd)$", "abcd"],
  ["^a{2,3}?$", "aaaa"],
])("fromJsonSchema: for the pattern %j and the text %j, agrees with a JavaScript regular expression", ([pattern, text]) => {
  expect(linesOf({ pattern }, text).length === 0).toBe(new RegExp(pattern, "u").test(text));
});

it.for<readonly [what: string, schema: JsonSchema, value: unknown, lines: readonly string[]]>([
  [
    'the keyword "pattern"',
    { properties: { a: { type: "string", pattern: "^a+$", format: "date" } } },
    { a: "b" },
    ['"a": The string does not match the pattern in the schema', '"a": The string does not have the format "date"'],
  ],
  [
    "a pattern next to allOf",
    { allOf: [{ minLength: 2 }], pattern: "^a" },
    "b",
    [": The string has 1 characters, but at least 2 are required", ": The string does not match the pattern in the schema"],
  ],
  ["a pattern inside not", { not: { pattern: "^a" } }, "ab", [': The value must not match the schema in "not"']],
  [
    "a property against all matching patterns and its own schema",
    {
      properties: { ab: { minimum: 1 } },
      patternProperties: { "^a": { minimum: 2 }, b$: { minimum: 3 } },
      additionalProperties: false,
    },
    { ab: 0, ac: 2, "": 1 },
    [
      '"ab": The number 0 is not allowed because it is less than 1',
      '"ab": The number 0 is not allowed because it is less than 2',
      '"ab": The number 0 is not allowed because it is less than 3',
      ': The property "" is unknown, and additional properties are not allowed',
    ],
  ],
  [
    "patternProperties at two levels",
    {
      patternProperties: { "^n": { patternProperties: { "^m": { type: "number" } } } },
      additionalProperties: { type: "object" },
    },
    { n1: { m1: "x", n2: 1 }, o: { n1: 1 } },
    ['"n1" "m1": The type "string" is not allowed. Expected type: "number"'],
  ],
  [
    "unevaluatedProperties next to patternProperties",
    { patternProperties: { "^n": {} }, unevaluatedProperties: false },
    { n: 1, o: 1 },
    [': The property "o" is unknown, and unevaluated properties are not allowed'],
  ],
])("fromJsonSchema: checks %s", ([, schema, value, lines]) => {
  expect(linesOf(schema, value)).toEqual(lines);
});

it.for<readonly [what: string, schema: JsonSchema, message: RegExp]>([
  [
    "a pattern with look-ahead",
    { pattern: "^(?=a)" },
    /has the pattern "\^\(\?=a\)", which cannot run in linear time: remove lookaround/,
  ],
  ["a pattern with a back reference", { patternProperties: { "(a)\\1": {} } }, /cannot run in linear time/],
  ["a pattern with nested repetitions", { pattern: `^(?:${"a".repeat(99)}){900}$` }, /cannot run in linear time/],
  [
    "patterns with too many characters",
    { pattern: "\\p{L}".repeat(5_000) },
    /has patterns with more than 20000 characters in total/,
  ],
  ["a pattern with more than 1,000 repetitions", { items: { pattern: "^a{1,2000}$" } }, /more than 1,000 repetitions/],
])("fromJsonSchema: rejects %s", ([, schema, message]) => {
  expect(() => fromJsonSchema(schema)).toThrow(message);
});
