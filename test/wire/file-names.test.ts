import { type ContentPart, type Message, runToolLoop, type ToolResultPart } from "turnwright";
import { fromAnthropicMessages, toAnthropicMessages } from "turnwright/anthropic";
import { fromOpenAIMessages, toOpenAIMessages } from "turnwright/openai";
import { fromUIMessages, toUIMessages } from "turnwright/ui-message-stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { specAdapters, vendorAdapters } from "./adapters.ts";

const pdf: ContentPart = { type: "file", mediaType: "application/pdf", data: "JVBERi0xLjc=", filename: "tides 2026.pdf" };
const csv: ContentPart = { type: "file", mediaType: "text/csv", data: btoa("city;tide"), filename: 'the "best" data' };
const zip: ContentPart = { type: "file", mediaType: "application/x-unknown", data: "UEsDBA==", filename: "all.bin" };

const result: ToolResultPart = { callId: "call_1", name: "look", outcome: "completed", result: "seen", content: [pdf, zip] };
const asked: readonly Message[] = [
  { role: "user", content: [{ type: "text", text: "Read." }, pdf, csv] },
  { role: "assistant", content: [{ type: "tool-call", callId: "call_1", name: "look", args: {} }] },
  { role: "tool", results: [result] },
];

const namesIn = (value: unknown, name: string): number => JSON.stringify(value).replaceAll("\\", "").split(name).length - 1;

describe.for([...vendorAdapters, ...specAdapters])("$name $variant", (adapter) => {
  it("sends the names of files", async () => {
    const { provider, bodies, close } = await adapter.open([{ text: "Done.", end: "stop" }]);
    onTestFinished(close);
    const { error } = await runToolLoop({ provider, messages: asked });
    expect(error).toBeUndefined();
    // Tool results of specification v2 have no place for a name.
    expect(namesIn(bodies[0], "tides 2026.pdf")).toBe(adapter.variant === "v2" ? 1 : 2);
    expect(namesIn(bodies[0], 'the "best" data')).toBe(1);
    // The adapters of vendors describe a file that cannot be sent.
    expect(namesIn(bodies[0], "all.bin")).toBe(adapter.variant === "v2" ? 0 : 1);
  });
});

const user: Message = { role: "user", content: [{ type: "text", text: "Read." }, pdf] };
const nameless: Message = { role: "user", content: [{ type: "file", mediaType: "application/pdf", data: "JVBERi0xLjc=" }] };

describe("file names survive the conversion to and from", () => {
  it.for<[what: string, convert: (messages: readonly Message[]) => readonly Message[]]>([
    ["OpenAI Chat", (messages) => fromOpenAIMessages(toOpenAIMessages(messages).messages).messages],
    [
      "OpenAI Responses",
      (messages) => fromOpenAIMessages(toOpenAIMessages<object>(messages, { api: "responses" } as never).messages).messages,
    ],
    ["Anthropic", (messages) => fromAnthropicMessages(toAnthropicMessages(messages).messages).messages],
    ["UI messages", (messages) => fromUIMessages(toUIMessages(messages).messages).messages],
  ])("%s", ([, convert]) => {
    expect(convert([user])).toMatchObject([{ content: [{ type: "text" }, { filename: "tides 2026.pdf" }] }]);
    const [again] = convert([nameless]);
    expect(JSON.stringify(again)).not.toContain("filename");
  });
});
