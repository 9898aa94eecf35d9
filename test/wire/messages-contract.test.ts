import { expect, it } from "vitest";
import { checkMessagesContract } from "./messages-contract.ts";

const text = (content: string): object => ({ type: "text", text: content });
const user = (...content: readonly unknown[]): object => ({
  role: "user",
  content: content.length === 0 ? [text("hi")] : content,
});
const turn = (...content: readonly unknown[]): object => ({ role: "assistant", content });
const call = (id: unknown, rest: object = {}): object => ({ type: "tool_use", id, name: "f", input: {}, ...rest });
const result = (id: string, rest: object = {}): object => ({ type: "tool_result", tool_use_id: id, content: "ok", ...rest });
const tool = (name: unknown): object => ({ name, description: "", input_schema: {} });
const body = (messages: readonly unknown[], rest: object = {}): object => ({
  model: "m",
  max_tokens: 9,
  stream: true,
  messages,
  ...rest,
});
const search = { type: "server_tool_use", id: "s", name: "web_search", input: {} };
const found = { type: "web_search_tool_result", tool_use_id: "s", content: [] };
const mark = { cache_control: { type: "ephemeral" } };

it.for<[what: string, valid: object]>([
  ["a question", body([user()])],
  ["a system prompt", body([user()], { system: "Be brief." })],
  ["a system prompt with a cache mark", body([user()], { system: [{ ...text("Be brief."), ...mark }] })],
  ["calls, their results and text", body([user(), turn(call("a"), call("b")), user(result("a"), result("b"), text("x"))])],
  ["signed thinking", body([user(), turn({ type: "thinking", thinking: "", signature: "s" }, call("a")), user(result("a"))])],
  ["a paused message at the end", body([user(), turn(text("x"), search)])],
  ["a server tool call and its result", body([user(), turn(search, found), user()])],
  ["a server tool call before tool results", body([user(), turn(search, call("a")), user(result("a"))])],
  [
    "tools",
    body([user()], { tools: [tool("f"), { type: "web_search_1", name: "g" }], tool_choice: { type: "tool", name: "g" } }),
  ],
])("checkMessagesContract (Anthropic): accepts a request with %s", ([, valid]) => {
  expect(checkMessagesContract(valid)).toEqual([]);
});

it.for<[what: string, invalid: unknown, violations: readonly string[]]>([
  ["a missing body", null, ["the body is no object"]],
  ["a missing model", body([user()], { model: "" }), ["there is no model"]],
  ["a missing max_tokens", body([user()], { max_tokens: undefined }), ["there is no max_tokens"]],
  ["a request that does not stream", body([user()], { stream: false }), ["it does not stream"]],
  ["missing messages", body([]), ["there are no messages"]],
  ["a message that is not an object", body(["x"]), ["message 0: is no object"]],
  ["an assistant message at the start", body([turn(text("x"))]), ["message 0: is of the assistant, not of the user"]],
  ["two consecutive messages with the same role", body([user(), user()]), ["message 1: is of the user, not of the assistant"]],
  ["a message without content", body([{ role: "user", content: [] }]), ["message 0: has no content"]],
  ["content as a string", body([{ role: "user", content: "hi" }]), ["message 0: has no content"]],
  ["a block that is not an object", body([user("x", text("y"))]), ["message 0: has a block that is not an object"]],
  ["blank text", body([user(text(" "))]), ["message 0: has a blank text"]],
  ["an unknown block in a user message", body([user({ type: "video" })]), ["message 0: has a block of type video"]],
  [
    "results that follow text",
    body([user(), turn(call("a")), user(text("x"), result("a"))]),
    ["message 2: has results after other content"],
  ],
  ["a result without a call", body([user(result("a"))]), ["message 0: answers no open call: a"]],
  [
    "two results for one call",
    body([user(), turn(call("a")), user(result("a"), result("a"))]),
    ["message 2: answers no open call: a"],
  ],
  [
    "results in a different order from their calls",
    body([user(), turn(call("a"), call("b")), user(result("b"), result("a"))]),
    ["message 2: answers b before a"],
  ],
  ["a call without a result", body([user(), turn(call("a")), user()]), ["message 2: does not answer a"]],
  [
    "an error result without text",
    body([user(), turn(call("a")), user(result("a", { content: undefined, is_error: true }))]),
    ["message 2: has an error without text"],
  ],
  [
    "a result with an empty list of blocks",
    body([user(), turn(call("a")), user(result("a", { content: [] }))]),
    ["message 2: has a result without content"],
  ],
  [
    "blank text in a result",
    body([user(), turn(call("a")), user(result("a", { content: [text("")] }))]),
    ["message 2: has a blank text"],
  ],
  ["a result in an assistant message", body([user(), turn(result("a"))]), ["message 1: has a result"]],
  [
    "thinking without a signature",
    body([user(), turn({ type: "thinking", thinking: "x", signature: "" }, text("y"))]),
    ["message 1: has thinking without a signature"],
  ],
  [
    "an assistant message that ends with thinking",
    body([user(), turn({ type: "redacted_thinking", data: "x" })]),
    ["message 1: ends in thinking"],
  ],
  [
    "a server tool call without a result",
    body([user(), turn(text("x"), search), user()]),
    ["message 1: has a call of a server's tool without its result"],
  ],
  [
    "a call with an invalid id",
    body([user(), turn(call("a.b")), user(result("a.b"))]),
    ['message 1: has a call of the id "a.b"'],
  ],
  ["a repeated call id", body([user(), turn(call("a"), call("a")), user(result("a"))]), ["message 1: has a second call a"]],
  [
    "a call with an invalid tool name",
    body([user(), turn(call("a", { name: "f g" })), user(result("a"))]),
    ['message 1: calls a tool of the name "f g"'],
  ],
  [
    "a call whose input is not an object",
    body([user(), turn(call("a", { input: [] })), user(result("a"))]),
    ["message 1: has an input of call a that is no object"],
  ],
  ["a blank system prompt", body([user()], { system: " " }), ["the system text is blank"]],
  ["a tool choice without tools", body([user()], { tool_choice: { type: "none" } }), ["there is a tool choice and no tool"]],
  ["an empty list of tools", body([user()], { tools: [] }), ["the list of tools is empty"]],
  ["a tool with an invalid name", body([user()], { tools: [tool("a b")] }), ['there is a tool of the name "a b"']],
  ["two tools with the same name", body([user()], { tools: [tool("f"), tool("f")] }), ['there are two tools of the name "f"']],
  ["a tool without a schema", body([user()], { tools: [{ name: "f" }] }), ['the tool "f" has no schema']],
  [
    "a tool choice for a tool that is not in the request",
    body([user()], { tools: [tool("f")], tool_choice: { type: "tool", name: "g" } }),
    ['the chosen tool "g" is not offered'],
  ],
  [
    "five cache marks, one above the maximum",
    body([user(...Array.from({ length: 5 }, () => ({ ...text("x"), ...mark })))]),
    ["there are 5 marks for the cache"],
  ],
  [
    "a thinking budget as large as max_tokens",
    body([user()], { thinking: { type: "enabled", budget_tokens: 9 } }),
    ["thinking may use all tokens of the answer"],
  ],
])("checkMessagesContract (Anthropic): reports %s", ([, invalid, violations]) => {
  expect(checkMessagesContract(invalid)).toEqual(violations);
});
