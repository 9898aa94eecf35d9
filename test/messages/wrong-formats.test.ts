import { expect, it } from "vitest";
import { fromOpenAIMessages } from "turnwright/openai";

it.for<[name: string, message: object, hint: string]>([
  ["an AI SDK UI message", { id: "m1", role: "user", parts: [{ type: "text", text: "Hi" }] }, "fromUIMessages"],
  [
    "an Anthropic tool call",
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "look", input: {} }] },
    "fromAnthropicMessages",
  ],
])("fromOpenAIMessages: rejects %s and names the right function", ([, message, hint]) => {
  expect(() => fromOpenAIMessages([message])).toThrow(hint);
});
