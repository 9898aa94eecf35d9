import { expect, it } from "vitest";
import { fromOpenAIMessages } from "turnwright/openai";

it.for<[name: string, message: object, hint: string]>([
  ["a UI message of the AI SDK", { id: "m1", role: "user", parts: [{ type: "text", text: "Hi" }] }, "fromUIMessages"],
  [
    "a tool call of Anthropic",
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "look", input: {} }] },
    "fromAnthropicMessages",
  ],
])("fromOpenAIMessages: rejects %s and names the right function", ([, message, hint]) => {
  expect(() => fromOpenAIMessages([message])).toThrow(hint);
});
