import { expect, it } from "vitest";
import { checkWireContract } from "./wire-contract.ts";

const user = { role: "user", content: "hi" };
const call = (id: unknown, rest: object = {}): object => ({
  id,
  type: "function",
  function: { name: "f", arguments: "{}", ...rest },
});
const turn = (...calls: readonly unknown[]): object => ({ role: "assistant", content: null, tool_calls: calls });
const result = (id: string, content: unknown = "ok"): object => ({ role: "tool", tool_call_id: id, content });
const tool = (name: unknown): object => ({ type: "function", function: { name, description: "", parameters: {} } });
const body = (messages: readonly unknown[], rest: object = {}): object => ({ model: "m", messages, ...rest });

it.for<[what: string, valid: object]>([
  ["a question", body([user])],
  ["a system message", body([{ role: "system", content: "Be brief." }, { role: "developer", content: "Very." }, user])],
  [
    "text and image parts",
    body([
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "image_url", image_url: { url: "data:," } },
        ],
      },
    ]),
  ],
  [
    "calls and their results",
    body([user, turn(call("a"), call("b")), result("a"), result("b", [{ type: "text", text: "ok" }]), user]),
  ],
  ["two assistant messages with calls", body([user, turn(call("a")), result("a"), turn(call("b")), result("b")])],
  ["tools", body([user], { tools: [tool("f"), tool("g")], tool_choice: { type: "function", function: { name: "g" } } })],
])("checkWireContract (Chat Completions): accepts a request with %s", ([, valid]) => {
  expect(checkWireContract(valid)).toEqual([]);
});

it.for<[what: string, invalid: unknown, violations: readonly string[]]>([
  ["a missing body", null, ["the body is no object"]],
  ["a missing model", { messages: [user] }, ["there is no model"]],
  ["missing messages", { model: "m", messages: [] }, ["there are no messages"]],
  ["a message that is not an object", body(["x"]), ["message 0: is no object"]],
  ["an unknown role", body([{ role: "function", content: "x" }]), ["message 0: has the unknown role function"]],
  [
    "a system message after another message",
    body([user, { role: "system", content: "x" }]),
    ["message 1: is a system message after the conversation has begun"],
  ],
  ["an empty system message", body([{ role: "system", content: "" }]), ["message 0: has no text"]],
  ["an empty user message", body([{ role: "user", content: [] }]), ["message 0: has no content"]],
  ["an unknown part", body([{ role: "user", content: [{ type: "video" }] }]), ["message 0: has an unknown part"]],
  ["an empty assistant message", body([{ role: "assistant", content: null }]), ["message 0: has neither text nor calls"]],
  [
    "an empty list of calls",
    body([{ role: "assistant", content: "x", tool_calls: [] }]),
    ["message 0: has an empty list of calls"],
  ],
  ["a call that is not an object", body([turn("x"), result("?")]), ["message 0: has a call that is not an object"]],
  ["a call without an id", body([turn(call("")), result("")]), ["message 0: has a call without an id"]],
  ["a repeated call id in one message", body([turn(call("a"), call("a")), result("a")]), ["message 0: has a second call a"]],
  [
    "a repeated call id in two messages",
    body([turn(call("a")), result("a"), turn(call("a")), result("a")]),
    ["message 2: has a second call a"],
  ],
  [
    'a call of type "custom"',
    body([turn({ ...call("a"), type: "custom" }), result("a")]),
    ["message 0: has a call of type custom"],
  ],
  [
    "a call with an invalid tool name",
    body([turn(call("a", { name: "a.b" })), result("a")]),
    ['message 0: calls a tool of the name "a.b"'],
  ],
  [
    "arguments that are not text",
    body([turn(call("a", { arguments: {} })), result("a")]),
    ["message 0: has arguments of call a that are no JSON object as text"],
  ],
  [
    "arguments that are not JSON text",
    body([turn(call("a", { arguments: "{" })), result("a")]),
    ["message 0: has arguments of call a that are no JSON object as text"],
  ],
  [
    "arguments that are JSON text but not an object",
    body([turn(call("a", { arguments: "[1]" })), result("a")]),
    ["message 0: has arguments of call a that are no JSON object as text"],
  ],
  ["a last call without a result", body([turn(call("a"), call("b")), result("a")]), ["the end: not answered: b"]],
  [
    "a message before the result of a call",
    body([turn(call("a")), user, result("a")]),
    ["message 1: comes before the answer to a", "message 2: answers no open call: a"],
  ],
  ["two results for one call", body([turn(call("a")), result("a"), result("a")]), ["message 2: answers no open call: a"]],
  ["a result without a call", body([user, result("a")]), ["message 1: answers no open call: a"]],
  [
    "results in a different order from their calls",
    body([turn(call("a"), call("b")), result("b"), result("a")]),
    ["message 1: answers b before a"],
  ],
  ["a result without content", body([turn(call("a")), result("a", null)]), ["message 1: has no content"]],
  ["a tool choice without tools", body([user], { tool_choice: "none" }), ["there is a tool choice and no tool"]],
  ["an empty list of tools", body([user], { tools: [] }), ["the list of tools is empty"]],
  ["a tool with an invalid name", body([user], { tools: [tool("a b")] }), ['there is a tool of the name "a b"']],
  ["two tools with the same name", body([user], { tools: [tool("f"), tool("f")] }), ['there are two tools of the name "f"']],
  [
    "a tool without a schema",
    body([user], { tools: [{ type: "function", function: { name: "f" } }] }),
    ['the tool "f" has no schema'],
  ],
  [
    "a tool choice for a tool that is not in the request",
    body([user], { tools: [tool("f")], tool_choice: { type: "function", function: { name: "g" } } }),
    ['the chosen tool "g" is not offered'],
  ],
])("checkWireContract (Chat Completions): reports %s", ([, invalid, violations]) => {
  expect(checkWireContract(invalid)).toEqual(violations);
});
