import { expect, it } from "vitest";
import { copyFields, countOf, textOf } from "./plain-error.ts";

it.for<[what: string, value: unknown, text: string, count: number | undefined]>([
  ['"a"', "a", "a", undefined],
  ['""', "", "", undefined],
  ['"5"', "5", "5", undefined],
  ["0", 0, "", 0],
  ["5", 5, "", 5],
  ["0.5", 0.5, "", 0.5],
  ["-1", -1, "", undefined],
  ["NaN", Number.NaN, "", undefined],
  ["Infinity", Number.POSITIVE_INFINITY, "", undefined],
  ["the largest safe integer", Number.MAX_SAFE_INTEGER, "", Number.MAX_SAFE_INTEGER],
  ["1e308", 1e308, "", undefined],
  ["null", null, "", undefined],
  ["undefined", undefined, "", undefined],
  ['["a"]', ["a"], "", undefined],
  ['new String("a")', new String("a"), "", undefined],
])("textOf and countOf: read the value %s as the text $2 and the count $3", ([, value, text, count]) => {
  expect([textOf(value), countOf(value)]).toEqual([text, count]);
});

it("copyFields: copies deeply, and keeps a key named __proto__ as data", () => {
  const fields: { readonly deep: { n: number } } = JSON.parse('{"deep":{"n":1},"__proto__":{"polluted":true}}');
  const copy = copyFields(fields);
  fields.deep.n = 2;
  expect(JSON.stringify(copy)).toBe('{"deep":{"n":1},"__proto__":{"polluted":true}}');
  expect([Object.getPrototypeOf(copy), Reflect.get({}, "polluted")]).toEqual([Object.prototype, undefined]);
});
