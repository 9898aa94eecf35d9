import { expect, it } from "vitest";
import { createMarker, type JoinedMessage, type MarkableRequest } from "./cache-marks.ts";
import type { WireBlock, WireMessage } from "./messages-options.ts";

const mark = { type: "ephemeral" } as const;
const block = (text: string): WireBlock => ({ type: "text", text });
const part = (role: WireMessage["role"], ...texts: readonly string[]): WireMessage => ({ role, content: texts.map(block) });
const join = (...parts: readonly [WireMessage, ...WireMessage[]]): JoinedMessage => ({
  message: { role: parts[0].role, content: parts.flatMap(({ content }) => content) },
  parts,
});
const user = (...texts: readonly string[]): JoinedMessage => join(part("user", ...texts));
const assistant = (...texts: readonly string[]): JoinedMessage => join(part("assistant", ...texts));

const plain: MarkableRequest = { system: undefined, tools: [], joined: [], extra: {} };

/** Returns a request's marked blocks, in order. */
function marksOf(request: Partial<MarkableRequest>, marker = createMarker(mark)): readonly unknown[] {
  const before = JSON.stringify(request);
  const { system, tools, messages } = marker({ ...plain, ...request });
  expect(JSON.stringify(request)).toBe(before);
  const blocks: readonly object[] = [
    ...tools,
    ...(typeof system === "object" ? system : []),
    ...messages.flatMap(({ content }) => content),
  ];
  return blocks.flatMap((each) => ("cache_control" in each ? [{ ...each, cache_control: undefined }] : [])).map(nameOf);
}

const nameOf = (each: object): unknown => Object.values(each).findLast((value) => value !== undefined);

const [first, second] = [part("user", "a", "b"), part("user", "c")];

it.for<[what: string, joined: readonly JoinedMessage[], marked: readonly string[]]>([
  ["the only message", [user("a")], ["a"]],
  ["the last two user messages", [user("a"), assistant("b"), user("c", "d"), assistant("e"), user("f", "g")], ["d", "g"]],
  [
    "the last block before context in the same message",
    [user("a"), assistant("b"), join(part("user", "c", "d"), part("user", "context"))],
    ["a", "d"],
  ],
  [
    "the last block of an earlier message, even if the block is context",
    [join(first, second), assistant("c"), user("d")],
    ["c", "d"],
  ],
  ["the last block before context if a paused assistant message follows", [join(first, second), assistant("b")], ["b"]],
  ["nothing if there are no messages", [], []],
])("anthropicMessages with cache: sets cache breakpoints on %s", ([, joined, marked]) => {
  expect(marksOf({ joined })).toEqual(marked);
});

it("anthropicMessages with cache: sets cache breakpoints on the system text and on the last tool that is not deferred", () => {
  const tools = [{ name: "f" }, { name: "g" }, { name: "h", defer_loading: true }];
  expect(marksOf({ system: "Be brief.", tools, joined: [user("a"), assistant("b"), user("c")] })).toEqual([
    "g",
    "Be brief.",
    "a",
    "c",
  ]);
});

const foreign = { type: "text", text: "foreign", cache_control: mark };

it.for<[what: string, request: Partial<MarkableRequest>, marked: readonly string[]]>([
  ["two breakpoints in extra.system", { extra: { system: [foreign, foreign] } }, ["a", "c"]],
  ["three breakpoints in extra.system", { extra: { system: [foreign, foreign, foreign] } }, ["c"]],
  ["four breakpoints in extra.tools", { extra: { tools: [foreign, foreign, foreign, foreign] } }, []],
  ["one breakpoint in extra.messages", { extra: { messages: [{ role: "user", content: [foreign] }] } }, ["g", "Be brief."]],
  ["automatic caching in extra", { extra: { cache_control: mark } }, ["Be brief.", "a", "c"]],
  ["a breakpoint on a server tool", { tools: [{ name: "g", cache_control: mark }] }, ["g", "Be brief.", "a", "c"]],
])("anthropicMessages with cache: sets at most 4 cache breakpoints in total if the request has %s", ([, request, marked]) => {
  const joined = [user("a"), assistant("b"), user("c")];
  expect(marksOf({ system: "Be brief.", tools: [{ name: "g" }], joined, ...request })).toEqual(marked);
});

it("anthropicMessages with cache: keeps the last cache breakpoint of the previous request and adds one at the end", () => {
  const marker = createMarker(mark);
  const before = [user("a"), assistant("b"), user("c")];
  expect(marksOf({ joined: before }, marker)).toEqual(["a", "c"]);
  const after = [...before, assistant("d"), user("e"), assistant("f"), user("g")];
  expect(marksOf({ joined: after }, marker)).toEqual(["c", "g"]);
  expect(marksOf({ joined: after }, createMarker(mark))).toEqual(["e", "g"]);
});

it("anthropicMessages with cache: keeps a cache breakpoint on a changed message in later requests", () => {
  const marker = createMarker(mark);
  const [start, ...rest] = [user("a"), assistant("b"), user("c"), assistant("d"), user("e"), assistant("f"), user("g")] as const;
  for (const length of [0, 2, 4, 6]) marksOf({ joined: [start, ...rest.slice(0, length)] }, marker);
  const changed = [start, rest[0], user("C"), ...rest.slice(2)] as const;
  expect(marksOf({ joined: changed }, marker)).toEqual(["a", "C", "g"]);
  const longer = [...changed, assistant("h"), user("i")];
  expect(marksOf({ joined: longer }, marker)).toEqual(["C", "g", "i"]);
  const again = [...longer.slice(0, 4), user("E"), ...longer.slice(5), assistant("j"), user("k")];
  expect(marksOf({ joined: again }, marker)).toEqual(["C", "E", "k"]);
});
