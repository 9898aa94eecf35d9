import { expect, it } from "vitest";
import { playReported } from "./play-watched.ts";

type Body = { readonly [field: string]: unknown };

async function play(...bodies: readonly Body[]): Promise<readonly unknown[]> {
  const { recording } = await playReported(bodies);
  return recording.of("cache-break").map(({ cause, keptBytes, lostBytes }) => [cause, keptBytes, lostBytes]);
}

const user = { role: "user", content: "Hi" };
const bytesOf = (...values: readonly unknown[]): number =>
  Buffer.byteLength(values.map((value) => JSON.stringify(value)).join(""));
const startOf = (value: unknown, until: string): number => JSON.stringify(value).indexOf(until);

const thinking = (signature: string): object => ({ type: "thinking", thinking: "Hm.", signature });
const said = (...content: readonly object[]): object => ({
  role: "assistant",
  content: [...content, { type: "text", text: "Yes." }],
});
const answer = said(thinking("one"));
const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
const output = { type: "function_call_output", call_id: "c", output: "ok" };
const reasoning = { type: "reasoning", id: "rs", summary: [{ type: "summary_text", text: "Hm." }] };

it.for<[what: string, before: Body, next: Body, cause: object, kept: number]>([
  [
    "a message with its keys in a different order",
    { messages: [user, answer] },
    { messages: [{ content: "Hi", role: "user" }, answer] },
    { kind: "message-keys-reordered", count: 1 },
    startOf(user, "role"),
  ],
  [
    "call arguments with their keys in a different order",
    { messages: [user, said({ type: "tool_use", id: "c", name: "f", input: { a: 1, b: 2 } }), user] },
    { messages: [user, said({ type: "tool_use", id: "c", name: "f", input: { b: 2, a: 1 } }), user] },
    { kind: "message-keys-reordered", count: 1 },
    bytesOf(user) + startOf(said({ type: "tool_use", id: "c", name: "f", input: { a: 1 } }), 'a":1'),
  ],
  [
    "a message without its reasoning",
    { messages: [user, answer, user] },
    { messages: [user, said(), user] },
    { kind: "provider-metadata-changed", count: 1 },
    bytesOf(user) + startOf(answer, "hinking"),
  ],
  [
    "a message with a different signature",
    { messages: [user, answer, user] },
    { messages: [user, said(thinking("two")), user] },
    { kind: "provider-metadata-changed", count: 1 },
    bytesOf(user) + startOf(answer, "one"),
  ],
  [
    "a model message with different text",
    { messages: [user, answer, user] },
    { messages: [user, { role: "assistant", content: [thinking("one"), { type: "text", text: "Yep." }] }, user] },
    { kind: "messages-edited", count: 1 },
    bytesOf(user) + startOf(answer, "s."),
  ],
  [
    "an omitted reasoning item",
    { input: [user, reasoning, call, output] },
    { input: [user, call, output, user] },
    { kind: "provider-metadata-changed", count: 1 },
    bytesOf(user) + startOf(call, "function_call"),
  ],
  [
    "a Google message without its thought signature",
    { contents: [user, { role: "model", parts: [{ text: "Yes.", thoughtSignature: "s" }] }, user], config: {} },
    { contents: [user, { role: "model", parts: [{ text: "Yes." }] }, user], config: {} },
    { kind: "provider-metadata-changed", count: 1 },
    bytesOf(user) + startOf({ role: "model", parts: [{ text: "Yes.", t: 1 }] }, ',"t"'),
  ],
  [
    "an AI SDK message with different provider options",
    {
      prompt: [user, { role: "assistant", content: [{ type: "text", text: "Yes.", providerOptions: { a: { id: "x" } } }] }, user],
    },
    {
      prompt: [user, { role: "assistant", content: [{ type: "text", text: "Yes.", providerOptions: { a: { id: "y" } } }] }, user],
    },
    { kind: "provider-metadata-changed", count: 1 },
    bytesOf(user) +
      startOf({ role: "assistant", content: [{ type: "text", text: "Yes.", providerOptions: { a: { id: "x" } } }] }, 'x"'),
  ],
  [
    "fewer messages",
    { messages: [user, answer, user] },
    { messages: [user, answer] },
    { kind: "messages-removed", count: 1 },
    bytesOf(user, answer),
  ],
  [
    "a different developer message at the beginning",
    { input: [{ role: "developer", content: "Be brief." }, user] },
    { input: [{ role: "developer", content: "Be long." }, user] },
    { kind: "system-changed" },
    startOf({ role: "developer", content: "Be brief." }, "brief"),
  ],
  [
    "a different answer format, which OpenAI reads before the system prompt",
    { tools: [call], instructions: "Be brief.", input: [user], text: { format: { type: "text" } } },
    { tools: [call], instructions: "Be brief.", input: [user], text: { format: { type: "json_object" } } },
    { kind: "setting-changed", name: "text.format" },
    bytesOf(call),
  ],
  [
    "a different tool choice, which Anthropic reads before the messages",
    { tools: [call], system: "Be brief.", messages: [user] },
    { tools: [call], system: "Be brief.", messages: [user], tool_choice: { type: "any" } },
    { kind: "tool-choice-changed" },
    bytesOf(call, "Be brief."),
  ],
])("watchPromptCache: reports a cache break for %s", async ([, before, next, cause, kept]) => {
  const [found, ...others] = (await play(before, next)) as readonly (readonly [object, number, number])[];
  expect(others).toEqual([]);
  expect(found?.slice(0, 2)).toEqual([cause, kept]);
  const {
    tools = [],
    system,
    instructions,
    messages = [],
    input = [],
    contents = [],
    prompt = [],
  } = before as { readonly [field: string]: unknown[] };
  const parts = [
    ...tools,
    ...[system, instructions].filter((each) => each !== undefined),
    ...messages,
    ...input,
    ...contents,
    ...prompt,
  ];
  expect(found?.[2]).toBe(bytesOf(...parts) - kept);
});

const marked = { type: "ephemeral" };

it.for<[what: string, before: Body, next: Body]>([
  ["body keys in a different order", { tools: [call], messages: [user] }, { messages: [user], tools: [call] }],
  [
    "cache marks that move",
    {
      system: [{ type: "text", text: "a", cache_control: marked }],
      messages: [{ role: "user", content: [{ type: "text", text: "b", cache_control: marked }] }],
    },
    { system: [{ type: "text", text: "a" }], messages: [{ role: "user", content: [{ type: "text", text: "b" }] }, answer] },
  ],
  [
    "a deferred tool that is added",
    { tools: [call], messages: [user] },
    { tools: [call, { name: "g", defer_loading: true }], messages: [user] },
  ],
  [
    "a different tool choice on a service that reads it later",
    { messages: [user], tool_choice: "auto" },
    { messages: [user], tool_choice: "none" },
  ],
  ["sampling settings", { messages: [user], temperature: 0 }, { messages: [user], temperature: 1, max_tokens: 5 }],
  ["Anthropic's default tool choice", { messages: [user] }, { messages: [user], tool_choice: { type: "auto" } }],
])("watchPromptCache: reports no cache break for %s", async ([, before, next]) => {
  expect(await play(before, next)).toEqual([]);
});

it("watchPromptCache: reports a cache break if an argument named cache_control changes", async () => {
  const asked = (value: string): object => ({
    role: "assistant",
    content: [{ type: "tool_use", id: "c", name: "f", input: { cache_control: value } }],
  });
  expect(await play({ messages: [user, asked("a"), user] }, { messages: [user, asked("b"), user] })).toHaveLength(1);
});
