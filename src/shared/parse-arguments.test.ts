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
  ['{"id":2512292042121000001}', { args: { id: "2512292042121000001" } }],
  ['{"ids":[ -9007199254740993 ,1]}', { args: { ids: ["-9007199254740993", 1] } }],
  [JSON.stringify('{"id":2512292042121000001}'), { args: { id: "2512292042121000001" } }],
  ['{"id":2512292042121000000,"safe":9007199254740991}', { args: { id: 2512292042121000000, safe: 9007199254740991 } }],
  ['{"pi":3.14159265358979323846,"big":1e300}', { args: { pi: Math.PI, big: 1e300 } }],
  [
    '{"2512292042121000001":"say \\"2512292042121000001\\" 2512292042121000001"}',
    { args: { "2512292042121000001": 'say "2512292042121000001" 2512292042121000001' } },
  ],
  ['{\n\t"text": "a\nb\tc\u0000\\n\\"d\n"\n}', { args: { text: 'a\nb\tc\u0000\n"d\n' } }],
  ['{"text":"a\n","id":2512292042121000001}', { args: { text: "a\n", id: "2512292042121000001" } }],
  [JSON.stringify('{"text":"a\nb"}'), { args: { text: "a\nb" } }],
  ['{"text":"a\\\nb"}', { problem: "malformed" }],
  ['{"text":"a\nb', { problem: "malformed" }],
  ['{"text":"a\nb\\', { problem: "malformed" }],
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

it("parseToolArguments: takes linear time for malformed arguments", () => {
  const parts = ['"', '\\"', "\n", '"\n', "a"];
  for (const part of parts) expect(parseToolArguments(`{"a":"${part.repeat(200_000)}`)).toEqual({ problem: "malformed" });
});
