import { expect, it } from "vitest";
import { parseJsonPath } from "./partial-arguments.ts";

it.for<[path: string, segments: readonly (string | number)[] | undefined]>([
  ["$", []],
  ["$.a", ["a"]],
  ["$.a.b[0]", ["a", "b", 0]],
  ["$[0][12]", [0, 12]],
  ["$.straße.a-b", ["straße", "a-b"]],
  ["$['a b'][\"c.d\"]", ["a b", "c.d"]],
  [String.raw`$['it\'s "it"']["say \"it\"\n"]`, ['it\'s "it"', 'say "it"\n']],
  ["$['']", [""]],
  ["$.__proto__.constructor", ["__proto__", "constructor"]],
  ["$['__proto__']", ["__proto__"]],
  [`$${".a".repeat(64)}`, Array.from({ length: 64 }, () => "a")],
  [`$${".a".repeat(65)}`, undefined],
  ["", undefined],
  ["a", undefined],
  ["a.b", undefined],
  ["$.", undefined],
  ["$..a", undefined],
  ["$.*", undefined],
  ["$[*]", undefined],
  ["$[-1]", undefined],
  ["$[1:2]", undefined],
  ["$[?@.a]", undefined],
  ["$[9999999999]", undefined],
  ["$['a'", undefined],
  ["$['a\\']", undefined],
  ["$['\\x']", undefined],
  ["$.a ]", undefined],
])("parseJsonPath: parses the path %j as %j", ([path, segments]) => {
  expect(parseJsonPath(path)).toEqual(segments);
});

it("parseJsonPath: rejects hostile paths of 200,000 characters", () => {
  expect(parseJsonPath(`$['${"\\".repeat(200_000)}`)).toBeUndefined();
  expect(parseJsonPath(`$.${"a".repeat(200_000)}[`)).toBeUndefined();
});
