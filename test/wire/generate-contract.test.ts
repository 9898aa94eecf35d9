import { expect, it } from "vitest";
import { checkGenerateContract } from "./generate-contract.ts";

const text = (content: string): object => ({ text: content });
const user = (...parts: readonly unknown[]): object => ({ role: "user", parts: parts.length === 0 ? [text("hi")] : parts });
const model = (...parts: readonly unknown[]): object => ({ role: "model", parts });
const call = (fields: object = {}, rest: object = { thoughtSignature: "s" }): object => ({
  functionCall: { name: "f", args: {}, ...fields },
  ...rest,
});
const answer = (fields: object = {}): object => ({ functionResponse: { name: "f", response: {}, ...fields } });
const body = (contents: readonly unknown[], rest: object = {}): object => ({ contents, ...rest });
const declared = (...names: readonly unknown[]): object => ({
  functionDeclarations: names.map((name) => ({ name, parametersJsonSchema: {} })),
});
const choosing = (functionCallingConfig: object): object => ({ toolConfig: { functionCallingConfig } });

it.for<[what: string, valid: object]>([
  ["a question", body([user()])],
  ["a system prompt", body([user()], { systemInstruction: { parts: [text("Be brief.")] } })],
  [
    "calls, their results, text and media",
    body([
      user(),
      model(text("x"), call({ id: "a" }), call({}, {})),
      user(answer({ id: "a" }), answer(), text("x"), { inlineData: { mimeType: "image/png", data: "A" } }),
    ]),
  ],
  ["signed blank text", body([user(), model({ text: "", thoughtSignature: "s" })])],
  ["unsigned calls before signed text", body([user(), model(call({}, {}), { text: "", thoughtSignature: "s" }), user(answer())])],
  [
    "tool calls and code that the service executed",
    body([user(), model({ toolCall: {} }, { toolResponse: {} }, { executableCode: {} }, { text: "x", thought: true })]),
  ],
  ["a file URI", body([user({ fileData: { mimeType: "video/mp4", fileUri: "gs://a" } })])],
  [
    "tools",
    body([user()], {
      tools: [declared("f", "a.b:c-d"), { googleSearch: {} }],
      ...choosing({ mode: "ANY", allowedFunctionNames: ["f"] }),
    }),
  ],
])("checkGenerateContract (Gemini): accepts a request with %s", ([, valid]) => {
  expect(checkGenerateContract(valid)).toEqual([]);
});

it.for<[what: string, invalid: unknown, violations: readonly string[]]>([
  ["a missing body", null, ["the body is no object"]],
  ["missing contents", body([]), ["there are no contents"]],
  ["a blank system prompt", body([user()], { systemInstruction: { parts: [text(" ")] } }), ["the system text is blank"]],
  ["a contents entry that is not an object", body(["x"]), ["content 0: is not of the user", "content 0: has no parts"]],
  ["a model entry at the start of contents", body([model(text("x"))]), ["content 0: is not of the user"]],
  ["two consecutive entries with the same role", body([user(), user()]), ["content 1: is not of the model"]],
  ["a contents entry without parts", body([{ role: "user", parts: [] }]), ["content 0: has no parts"]],
  ["an empty part", body([user({})]), ["content 0: has a part of nothing"]],
  [
    "a part with two kinds of data",
    body([user({ text: "x", inlineData: { mimeType: "a/b", data: "A" } })]),
    ["content 0: has a part of text and inlineData"],
  ],
  ["an unknown part in a user message", body([user({ toolCall: {} })]), ["content 0: has a part of toolCall"]],
  ["blank text", body([user(text(" "))]), ["content 0: has a blank text"]],
  ["media without a type", body([user({ inlineData: { data: "A" } })]), ["content 0: has media without a type"]],
  [
    "media with parameters in the type",
    body([user({ inlineData: { mimeType: "a/b; c", data: "A" } })]),
    ["content 0: has media without a type"],
  ],
  [
    "media without content",
    body([user({ inlineData: { mimeType: "a/b", data: "" } })]),
    ["content 0: has media without content"],
  ],
  ["a call without a result", body([user(), model(call()), user()]), ["content 2: has 0 answers to 1 calls"]],
  [
    "two results for one call",
    body([user(), model(call()), user(answer(), answer())]),
    ["content 2: has 2 answers to 1 calls", "content 2: answers undefined as f"],
  ],
  [
    "a result that follows text",
    body([user(), model(call()), user(text("x"), answer())]),
    ["content 2: has responses after other parts"],
  ],
  [
    "a result whose name differs from its call's",
    body([user(), model(call()), user(answer({ name: "g" }))]),
    ["content 2: answers f as g"],
  ],
  [
    "a result whose id differs from its call's",
    body([user(), model(call()), user(answer({ id: "a" }))]),
    ["content 2: answers the id undefined as a"],
  ],
  [
    "a result that is text",
    body([user(), model(call()), user(answer({ response: "ok" }))]),
    ["content 2: has an answer that is no object"],
  ],
  [
    "a call with an invalid name",
    body([user(), model(call({ name: "a b" })), user(answer({ name: "a b" }))]),
    ['content 1: calls a function of the name "a b"'],
  ],
  [
    "arguments that are a list",
    body([user(), model(call({ args: [] })), user(answer())]),
    ["content 1: has a call whose arguments are no object"],
  ],
  [
    "a call whose arguments continue in another part",
    body([user(), model(call({ willContinue: true })), user(answer())]),
    ["content 1: has a call in pieces"],
  ],
  [
    "calls without a signature",
    body([user(), model(call({}, {})), user(answer())]),
    ["content 1: has a step that is not signed"],
  ],
  ["a tool choice without tools", body([user()], choosing({ mode: "ANY" })), ["there is a tool choice and no tool"]],
  ["a tool with an invalid name", body([user()], { tools: [declared("1")] }), ["there is a tool of the name 1"]],
  ["two tools with the same name", body([user()], { tools: [declared("f", "f")] }), ["there are two tools of one name"]],
  [
    "a tool without a schema",
    body([user()], { tools: [{ functionDeclarations: [{ name: "f" }] }] }),
    ["there is a tool without a schema"],
  ],
  [
    "function names in mode AUTO",
    body([user()], { tools: [declared("f")], ...choosing({ mode: "AUTO", allowedFunctionNames: ["f"] }) }),
    ["allowed function names are set with the mode AUTO"],
  ],
  [
    "a tool choice for a tool that is not in the request",
    body([user()], { tools: [declared("f")], ...choosing({ mode: "ANY", allowedFunctionNames: ["g"] }) }),
    ['the chosen tool "g" is not offered'],
  ],
])("checkGenerateContract (Gemini): reports %s", ([, invalid, violations]) => {
  expect(checkGenerateContract(invalid)).toEqual(violations);
});

it("checkGenerateContract (Gemini): requires no signature with `signed: false`", () => {
  expect(checkGenerateContract(body([user(), model(call({}, {})), user(answer())]), { signed: false })).toEqual([]);
});
