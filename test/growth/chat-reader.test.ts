import { expect, it } from "vitest";
import { createChatReader } from "../../src/openai/chat-events.ts";
import type { ModelChunk } from "../../src/core/index.ts";
import { growthOf, maxGrowth } from "./measure.ts";

const chunk = (delta: object, rest: object = {}): object => ({ choices: [{ index: 0, delta, finish_reason: null, ...rest }] });
const call = (entry: object, rest: object = {}): object => chunk({ tool_calls: [entry] }, rest);
const named = (index: number, args: string): object => ({ index, id: `c${index}`, function: { name: "f", arguments: args } });

function countCalls(chunks: readonly object[]): number {
  const out: ModelChunk[] = [];
  const reader = createChatReader(out);
  for (const one of chunks) reader.read(one);
  reader.read(chunk({}, { finish_reason: "stop" }));
  reader.end();
  return out.filter(({ type }) => type === "call-ready").length;
}

it.for<
  [what: string, of: { readonly first?: (long: string) => object; readonly next: (index: number) => object }, perChunk: number]
>([
  [
    "many calls that each have a finish reason",
    { next: (index) => call(named(index, "{}"), { finish_reason: "tool_calls" }) },
    1,
  ],
  ["many calls that are never complete", { next: (index) => call(named(index, "{")) }, 1],
  [
    "many named fragments of one long call",
    {
      first: (long) => call({ index: 0, id: "a", function: { name: "f", arguments: `{"x":"${long}","y":{}` } }),
      next: () => call({ index: 0, function: { name: "f", arguments: "{}" } }),
    },
    0,
  ],
  [
    "fragments of one long call between many new calls",
    {
      first: (long) => call({ index: -1, id: "a", function: { name: "f", arguments: `{"x":"${long}` } }),
      next: (index) => (index % 2 === 0 ? call({ index: -1, function: { arguments: "}" } }) : call(named(index, "{}"))),
    },
    0.5,
  ],
  [
    "many fragments of reasoning details",
    { next: (index) => chunk({ reasoning_details: [{ type: "t", index: index % 5_000, text: "ab", signature: "" }] }) },
    0,
  ],
])("createChatReader: reads %s in linear time", async ([, { first, next }, perChunk]) => {
  const growth = await growthOf((size) => {
    const chunks = Array.from({ length: size }, (_, index) => next(index));
    const begin = first === undefined ? [] : [first("z".repeat(20 * size))];
    return () => expect(countCalls([...begin, ...chunks])).toBe(size * perChunk + begin.length);
  }, 4_000);
  expect(growth).toBeLessThan(maxGrowth);
});
