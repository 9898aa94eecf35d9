import { expect, it } from "vitest";
import { parseToolArguments } from "./json.ts";

it.for<[text: string, parsed: object]>([
  ['{"city":"Oslo"}', { args: { city: "Oslo" } }],
  ["", { args: {} }],
  [" \n", { args: {} }],
  ["null", { args: {} }],
  [" null\n", { args: {} }],
  ["[1]", { args: [1] }],
  ['"text"', { args: "text" }],
  [JSON.stringify('{"city":"Oslo"}'), { args: { city: "Oslo" } }],
  [JSON.stringify(' {"city":"Oslo"}\n'), { args: { city: "Oslo" } }],
  [JSON.stringify("{hello world}"), { args: "{hello world}" }],
  [JSON.stringify("[1]"), { args: "[1]" }],
  ['{"city":', { problem: "malformed" }],
  ["{'city':'Oslo'}", { problem: "malformed" }],
  ['{"a":1}{"b":2}', { problem: "malformed" }],
  ["undefined", { problem: "malformed" }],
])("parseToolArguments(%j) returns %j", ([text, parsed]) => {
  expect(parseToolArguments(text)).toEqual(parsed);
});

it("parseToolArguments: keeps the key __proto__ as data", () => {
  const parsed = parseToolArguments('{"__proto__":{"admin":true}}');
  expect(Object.keys("args" in parsed ? Object(parsed.args) : {})).toEqual(["__proto__"]);
  expect(Reflect.get({}, "admin")).toBeUndefined();
});
