// Long and hostile streams: the cost of a chunk must not depend on the chunks before it. Otherwise these tests take minutes.

import { expect, it } from "vitest";
import type { ModelChunk } from "../core/provider-kit.ts";
import { createChatReader } from "./chat-chunks.ts";

const many = 60_000;
const times = <Item>(make: (index: number) => Item): readonly Item[] => Array.from({ length: many }, (_, index) => make(index));
const chunk = (delta: object, rest: object = {}): object => ({ choices: [{ index: 0, delta, finish_reason: null, ...rest }] });
const call = (entry: object, rest: object = {}): object => chunk({ tool_calls: [entry] }, rest);
const named = (index: number, args: string): object => ({ index, id: `c${index}`, function: { name: "f", arguments: args } });
const long = "z".repeat(1_000_000);

it.for<[what: string, chunks: readonly object[], count: number]>([
  ["calls, each with a finish reason", times((index) => call(named(index, "{}"), { finish_reason: "tool_calls" })), many],
  ["calls that are never complete", times((index) => call(named(index, "{"))), many],
  [
    "named fragments of a long call",
    [
      call({ index: 0, id: "a", function: { name: "f", arguments: `{"x":"${long}","y":{}` } }),
      ...times(() => call({ index: 0, function: { name: "f", arguments: "{}" } })),
    ],
    1,
  ],
  [
    "fragments of a long call among new ones",
    [
      call({ index: -1, id: "a", function: { name: "f", arguments: `{"x":"${long}` } }),
      ...times((index) => (index % 2 === 0 ? call({ index: -1, function: { arguments: "}" } }) : call(named(index, "{}")))),
    ],
    many / 2 + 1,
  ],
  [
    "fragments of reasoning details",
    times((index) => chunk({ reasoning_details: [{ type: "t", index: index % 5_000, text: "ab", signature: "" }] })),
    0,
  ],
])("createChatReader: reads %s in linear time", { timeout: 20_000 }, ([, chunks, count]) => {
  const out: ModelChunk[] = [];
  const reader = createChatReader(out);
  for (const one of chunks) reader.read(one);
  reader.read(chunk({}, { finish_reason: "stop" }));
  reader.end();
  expect(out.filter(({ type }) => type === "call-ready")).toHaveLength(count);
});
