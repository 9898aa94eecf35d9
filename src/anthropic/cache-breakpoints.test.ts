import { expect, it } from "vitest";
import { type JoinedMessage, markLast, markMessages, markSystem } from "./messages-body.ts";
import type { WireBlock } from "./messages-options.ts";

const mark = { type: "ephemeral" } as const;
const block = (text: string): WireBlock => ({ type: "text", text });
const user = (stableBlocks: number, ...texts: readonly string[]): JoinedMessage => ({
  message: { role: "user", content: texts.map(block) },
  stableBlocks,
});
const assistant = (...texts: readonly string[]): JoinedMessage => ({
  message: { role: "assistant", content: texts.map(block) },
  stableBlocks: 0,
});

it.for<[what: string, joined: readonly JoinedMessage[], marked: readonly string[]]>([
  ["the only message", [user(0, "a")], ["a"]],
  [
    "the last two user messages",
    [user(0, "a"), assistant("b"), user(0, "c", "d"), assistant("e"), user(0, "f", "g")],
    ["d", "g"],
  ],
  ["the last block before context in the same message", [user(0, "a"), assistant("b"), user(2, "c", "d", "context")], ["a", "d"]],
  [
    "the last block of an earlier message, even if the block is context",
    [user(1, "a", "b"), assistant("c"), user(0, "d")],
    ["b", "d"],
  ],
  ["the last block before context if a paused assistant message follows", [user(1, "a", "context"), assistant("b")], ["a"]],
  ["nothing if there are no messages", [], []],
])("anthropicMessages with cache: marks %s", ([, joined, marked]) => {
  const before = JSON.stringify(joined);
  const messages = markMessages(joined, mark);
  const found = messages.flatMap(({ content }) => content.flatMap((item) => (item.cache_control === mark ? [item.text] : [])));
  expect(found).toEqual(marked);
  expect(JSON.stringify(joined)).toBe(before);
  const unmarked = messages.map(({ role, content }) => ({ role, content: content.map(({ type, text }) => ({ type, text })) }));
  expect(unmarked).toEqual(joined.map(({ message }) => message));
});

it("anthropicMessages with cache: marks the last tool and the system text", () => {
  const tools = [{ name: "f" }, { name: "g" }];
  expect(markLast(tools, mark)).toEqual([{ name: "f" }, { name: "g", cache_control: mark }]);
  expect(tools).toEqual([{ name: "f" }, { name: "g" }]);
  expect(markSystem("Be brief.", mark)).toEqual([{ type: "text", text: "Be brief.", cache_control: mark }]);
});
