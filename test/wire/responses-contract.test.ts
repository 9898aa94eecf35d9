import { expect, it } from "vitest";
import { checkResponsesContract } from "./responses-contract.ts";

const user = { role: "user", content: "hi" };
const said = (rest: object = {}): object => ({
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text: "a" }],
  ...rest,
});
const thought = { type: "reasoning", summary: [], encrypted_content: "x" };
const call = (id: unknown, rest: object = {}): object => ({
  type: "function_call",
  call_id: id,
  name: "f",
  arguments: "{}",
  ...rest,
});
const custom = (id: string): object => ({ type: "custom_tool_call", call_id: id, name: "f", input: "x" });
const output = (id: string, value: unknown = "ok"): object => ({ type: "function_call_output", call_id: id, output: value });
const customOutput = (id: string): object => ({ type: "custom_tool_call_output", call_id: id, output: "ok" });
const tool = (name: unknown, rest: object = {}): object => ({ type: "function", name, parameters: {}, strict: false, ...rest });
const body = (input: readonly unknown[], rest: object = {}): object => ({ model: "m", input, store: false, ...rest });

it.for<[what: string, valid: object]>([
  ["a question", body([user])],
  [
    "text and image parts",
    body([
      {
        role: "user",
        content: [
          { type: "input_text", text: "a" },
          { type: "input_image", image_url: "data:," },
        ],
      },
    ]),
  ],
  [
    "calls and their results",
    body([user, thought, call("a"), call("b"), output("b"), output("a", [{ type: "input_text", text: "ok" }]), user]),
  ],
  ["a custom call", body([user, thought, custom("a"), customOutput("a")])],
  [
    "an answer after reasoning and a web search",
    body([user, thought, { type: "web_search_call" }, thought, said(), user, { role: "assistant", content: "a" }]),
  ],
  ["readable reasoning", body([{ type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "Hm" }] }, said()])],
  ["stored items", body([{ type: "reasoning", id: "r", summary: [] }, said({ id: "m" })], { store: true })],
  [
    "tools",
    body([user], {
      tools: [tool("f"), { type: "custom", name: "g" }, { type: "web_search" }],
      tool_choice: { type: "custom", name: "g" },
    }),
  ],
  ['the tool choice "required"', body([user], { tools: [tool("f")], tool_choice: "required" })],
])("checkResponsesContract (OpenAI): accepts a request with %s", ([, valid]) => {
  expect(checkResponsesContract(valid)).toEqual([]);
});

it.for<[what: string, invalid: unknown, violations: readonly string[]]>([
  ["a missing body", null, ["the body is no object"]],
  ["a missing model", { input: [user], store: false }, ["there is no model"]],
  ["a missing store flag", { model: "m", input: [user] }, ["it is not said whether to store"]],
  ["missing input", body([]), ["there is no input"]],
  ["an item that is not an object", body(["x"]), ["item 0: is no object"]],
  ["an unknown role", body([{ role: "tool", content: "x" }]), ["item 0: has the unknown role tool"]],
  ["an empty message", body([{ role: "user", content: [] }]), ["item 0: has no content"]],
  ["an empty assistant message", body([{ role: "assistant", content: "" }]), ["item 0: has no content"]],
  ["an unknown part", body([{ role: "user", content: [{ type: "text" }] }]), ["item 0: has an unknown part"]],
  [
    "a user message part in an assistant message",
    body([said({ content: [{ type: "input_text" }] })]),
    ["item 0: has an unknown part"],
  ],
  ["an id on a message if store is false", body([said({ id: "m" })]), ['item 0: has the id "m", which nobody knows']],
  [
    "an id on a call if store is false",
    body([call("a", { id: "fc" }), output("a")]),
    ['item 0: has the id "fc", which nobody knows'],
  ],
  ["reasoning without a summary", body([{ type: "reasoning", encrypted_content: "x" }, said()]), ["item 0: has no summary"]],
  [
    "reasoning with a status",
    body([{ ...thought, status: "completed" }, said()]),
    ["item 0: has a status, which only the service writes"],
  ],
  [
    "reasoning that the service cannot read",
    body([{ type: "reasoning", summary: [], encrypted_content: null }, said()]),
    ["item 0: is reasoning that cannot be read"],
  ],
  ["reasoning at the end", body([user, thought]), ["the end: reasoning without what it belongs to"]],
  ["reasoning before a user message", body([thought, user]), ["item 1: comes after reasoning that it does not belong to"]],
  [
    "reasoning directly before a tool result",
    body([call("a"), thought, output("a")]),
    ["item 2: comes after reasoning that it does not belong to"],
  ],
  ["a call without an id", body([call("")]), ['item 0: has a call with the id ""']],
  ["a call with a long id", body([call("x".repeat(65))]), [`item 0: has a call with the id "${"x".repeat(65)}"`]],
  ["a repeated id", body([call("a"), output("a"), call("a"), output("a")]), ["item 2: has a second call a"]],
  [
    "a call with an invalid tool name",
    body([call("a", { name: "a.b" }), output("a")]),
    ['item 0: calls a tool of the name "a.b"'],
  ],
  [
    "arguments that are not a JSON object",
    body([call("a", { arguments: "[1]" }), output("a")]),
    ["item 0: has arguments of call a that are no JSON object as text"],
  ],
  [
    "arguments that are not text",
    body([call("a", { arguments: {} }), output("a")]),
    ["item 0: has arguments of call a that are no JSON object as text"],
  ],
  [
    "a custom call without input",
    body([{ ...custom("a"), input: undefined }, customOutput("a")]),
    ["item 0: has no input of call a"],
  ],
  ["a call without a result", body([call("a"), call("b"), output("a")]), ["the end: not answered: b"]],
  ["a user message before the result of a call", body([call("a"), user, output("a")]), ["item 1: comes before the answer to a"]],
  ["two results for one call", body([call("a"), output("a"), output("a")]), ["item 2: answers no open call: a"]],
  [
    "a custom call with the result of a function call",
    body([custom("a"), output("a")]),
    ["item 1: answers a as function_call_output"],
  ],
  ["a result without output", body([call("a"), output("a", null)]), ["item 1: has no content"]],
  ["a result with an unknown part", body([call("a"), output("a", [{ type: "text" }])]), ["item 1: has an unknown part"]],
  ["a tool choice without tools", body([user], { tool_choice: "none" }), ["there is a tool choice and no tool"]],
  ["an empty list of tools", body([user], { tools: [] }), ["the list of tools is empty"]],
  ["a tool that is not an object", body([user], { tools: ["x"] }), ["there is a tool that is not an object"]],
  ["a tool without a type", body([user], { tools: [{ name: "f" }] }), ["there is a tool without a type"]],
  ["a tool with an invalid name", body([user], { tools: [tool("a b")] }), ['there is a tool of the name "a b"']],
  [
    "two tools with the same name",
    body([user], { tools: [tool("f"), { type: "custom", name: "f" }] }),
    ['there are two tools of the name "f"'],
  ],
  ["a tool without a schema", body([user], { tools: [tool("f", { parameters: null })] }), ['the tool "f" has no schema']],
  [
    "a tool without a strict flag",
    body([user], { tools: [tool("f", { strict: undefined })] }),
    ['the tool "f" would be read as strict'],
  ],
  [
    "a tool choice for a tool that is not in the request",
    body([user], { tools: [tool("f")], tool_choice: { type: "custom", name: "f" } }),
    ['the chosen tool "f" is not offered so'],
  ],
])("checkResponsesContract (OpenAI): reports %s", ([, invalid, violations]) => {
  expect(checkResponsesContract(invalid)).toEqual(violations);
});
