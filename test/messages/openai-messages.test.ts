import { describe, expect, it } from "vitest";
import { fromOpenAIMessages, toOpenAIMessages } from "turnwright/openai";

describe("try", () => {
  it("chat", () => {
    const chat = [
      { role: "developer", content: "Be nice" },
      { role: "user", content: "Hi" , name: "bob"},
      { role: "system", content: "later" },
      { role: "assistant", content: null, tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: '{ "a": 1 }' } }, { id: "c2", type: "function", function: { name: "f", arguments: '{"a":1}' } }] },
      { role: "tool", tool_call_id: "c", content: "r" },
      { role: "tool", tool_call_id: "x", content: "r" },
      { role: "assistant", content: "Done", audio: { id: "s" }, annotations: [] },
    ];
    const read = fromOpenAIMessages(chat);
    console.log(JSON.stringify(read, null, 1));
    console.log(JSON.stringify(fromOpenAIMessages(chat, { model: "gpt" }), null, 1));
    console.log(JSON.stringify(toOpenAIMessages(read.messages, { system: read.system }), null, 1));
    const items = [
      { role: "user", content: [{type: "input_text", text: "x"}]},
      { type: "reasoning", id: "rs", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "abc" },
      { type: "message", id: "m", role: "assistant", status: "completed", content: [{ type: "output_text", text: "Looking", annotations: [] }] , phase: "commentary"},
      { type: "function_call", id: "fc", call_id: "c", name: "f", arguments: '{ "a":1}', status: "completed" },
      { type: "function_call_output", call_id: "c", output: "5" },
      { role: "assistant", content: "Bye" },
    ];
    console.log(JSON.stringify(fromOpenAIMessages(items), null, 1));
    const kept = fromOpenAIMessages(items, { model: "gpt" });
    console.log(JSON.stringify(kept, null, 1));
    console.log(JSON.stringify(toOpenAIMessages(kept.messages, { model: "gpt", api: "responses" }), null, 1));
    expect(1).toBe(1);
  });
});
