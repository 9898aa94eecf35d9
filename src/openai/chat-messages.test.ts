import { describe, expect, it } from "vitest";
import type { AssistantPart } from "../core/kit.ts";
import type { Json, Message, ToolResultPart } from "../core/index.ts";
import { createMessageConverter, type MessageSettings } from "./chat-body.ts";

const settings: MessageSettings = {
  id: "openai",
  model: "m",
  echoReasoning: undefined,
  toolResultMedia: "user-message",
  toWireCallId: (callId) => callId,
};
const convert = (message: Message, changes: Partial<MessageSettings> = {}): readonly unknown[] =>
  createMessageConverter({ ...settings, ...changes })(message);

const turn = (...content: readonly AssistantPart[]): Message => ({ role: "assistant", content });
const call = (callId: string, args: Json = {}): AssistantPart => ({ type: "tool-call", callId, name: "f", args });
const result = (callId: string, rest: Partial<ToolResultPart> = {}): ToolResultPart => ({
  callId,
  name: "f",
  outcome: "completed",
  result: "ok",
  ...rest,
});
const wireCall = (id: string, args = "{}", name = "f"): object => ({ id, type: "function", function: { name, arguments: args } });
const image = { type: "image", mediaType: "image/png", data: "eA==" } as const;
const csv = { type: "file", mediaType: "text/csv", data: "YTti" } as const;
const zip = { type: "file", mediaType: "application/zip", data: "UEs=" } as const;
const wireImage = { type: "image_url", image_url: { url: "data:image/png;base64,eA==" } };

describe("openaiChat: the messages of a request", () => {
  it.for<[what: string, message: Message, wire: readonly object[]]>([
    ["a user message with text", { role: "user", content: "hi" }, [{ role: "user", content: "hi" }]],
    [
      "a user message with an image",
      { role: "user", content: [{ type: "text", text: "see" }, image] },
      [{ role: "user", content: [{ type: "text", text: "see" }, wireImage] }],
    ],
    [
      "an assistant message with text",
      turn({ type: "text", text: "Hel" }, { type: "text", text: "lo" }),
      [{ role: "assistant", content: "Hello" }],
    ],
    [
      "an assistant message with reasoning and text",
      turn({ type: "reasoning", text: "Hm" }, { type: "text", text: "Hello" }),
      [{ role: "assistant", content: "Hello" }],
    ],
    [
      "an assistant message with only calls",
      turn(call("a"), call("b", { n: 1 })),
      [{ role: "assistant", content: null, tool_calls: [wireCall("a"), wireCall("b", '{"n":1}')] }],
    ],
    [
      "an assistant message with text and a call",
      turn({ type: "text", text: "One moment." }, call("a")),
      [{ role: "assistant", content: "One moment.", tool_calls: [wireCall("a")] }],
    ],
    ["no message for an empty assistant message", turn(), []],
    ["no message for an assistant message with only reasoning", turn({ type: "reasoning", text: "Hm" }), []],
    [
      "the model's arguments for a call, even if an approval changed the arguments",
      turn({ type: "tool-call", callId: "a", name: "f", args: { n: 1 }, approvedArgs: { n: 2 } }),
      [{ role: "assistant", content: null, tool_calls: [wireCall("a", '{"n":1}')] }],
    ],
    [
      "the id that the run gave the call, not the provider's id",
      turn({ type: "tool-call", callId: "call_i0_0", providerCallId: "a", name: "f", args: {} }),
      [{ role: "assistant", content: null, tool_calls: [wireCall("call_i0_0")] }],
    ],
    [
      "a call with arguments that are a string",
      turn(call("a", '{"n":')),
      [{ role: "assistant", content: null, tool_calls: [wireCall("a", '{"INVALID_ARGUMENTS":"{\\"n\\":"}')] }],
    ],
    [
      "a call with null arguments",
      turn(call("a", null)),
      [{ role: "assistant", content: null, tool_calls: [wireCall("a", '{"INVALID_ARGUMENTS":null}')] }],
    ],
    [
      "a call with arguments that are an array",
      turn(call("a", [1])),
      [{ role: "assistant", content: null, tool_calls: [wireCall("a", '{"INVALID_ARGUMENTS":[1]}')] }],
    ],
    [
      "a call with an argument named __proto__",
      turn(call("a", JSON.parse('{"__proto__":{"x":1}}'))),
      [{ role: "assistant", content: null, tool_calls: [wireCall("a", '{"__proto__":{"x":1}}')] }],
    ],
    [
      "a call with invalid characters in the tool name",
      turn({ type: "tool-call", callId: "a", name: "functions.get weather!", args: {} }),
      [{ role: "assistant", content: null, tool_calls: [wireCall("a", "{}", "functions_get_weather_")] }],
    ],
    [
      "a call with a tool name that is too long",
      turn({ type: "tool-call", callId: "a", name: "x".repeat(99), args: {} }),
      [{ role: "assistant", content: null, tool_calls: [wireCall("a", "{}", "x".repeat(64))] }],
    ],
    [
      "tool results",
      {
        role: "tool",
        results: [
          result("a"),
          result("b", { result: { n: [1, null] } }),
          result("c", { result: null }),
          result("d", { result: "" }),
        ],
      },
      [
        { role: "tool", tool_call_id: "a", content: "ok" },
        { role: "tool", tool_call_id: "b", content: '{"n":[1,null]}' },
        { role: "tool", tool_call_id: "c", content: "null" },
        { role: "tool", tool_call_id: "d", content: "" },
      ],
    ],
    [
      "a tool result with additional text",
      { role: "tool", results: [result("a", { content: [{ type: "text", text: "and more" }] })] },
      [{ role: "tool", tool_call_id: "a", content: "ok\nand more" }],
    ],
    [
      "a tool result with files, as text or as a note for the model",
      { role: "tool", results: [result("a", { content: [csv, zip, image] })] },
      [
        {
          role: "tool",
          tool_call_id: "a",
          content: expect.stringMatching(
            /^ok\nFile of type text\/csv:\na;b\n\[The tool returned a file of type application\/zip, .+\]$/,
          ),
        },
        { role: "user", content: [{ type: "text", text: "Content that the tool f returned for call a:" }, wireImage] },
      ],
    ],
    [
      "tool results with images, with all images in one user message",
      {
        role: "tool",
        results: [
          result("a", { content: [{ type: "text", text: "seen" }, image] }),
          result("b", { content: [image] }),
          result("c"),
        ],
      },
      [
        { role: "tool", tool_call_id: "a", content: "ok\nseen" },
        { role: "tool", tool_call_id: "b", content: "ok" },
        { role: "tool", tool_call_id: "c", content: "ok" },
        {
          role: "user",
          content: [
            { type: "text", text: "Content that the tool f returned for call a:" },
            wireImage,
            { type: "text", text: "Content that the tool f returned for call b:" },
            wireImage,
          ],
        },
      ],
    ],
  ])("contain %s", ([, message, wire]) => {
    expect(convert(message)).toEqual(wire);
  });

  it("keep images in the tool message if toolResultMedia is tool-message", () => {
    const message: Message = { role: "tool", results: [result("a", { content: [image] }), result("b")] };
    expect(convert(message, { toolResultMedia: "tool-message" })).toEqual([
      { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "ok" }, wireImage] },
      { role: "tool", tool_call_id: "b", content: "ok" },
    ]);
  });

  it.for(["reasoning_content", "reasoning"] as const)(
    "contain the reasoning, or a single space, in the `%s` field if echoReasoning names this field",
    (echoReasoning) => {
      const thinking = turn({ type: "reasoning", text: "Hm" }, call("a"));
      expect(convert(thinking, { echoReasoning })).toEqual([
        { role: "assistant", content: null, tool_calls: [wireCall("a")], [echoReasoning]: "Hm" },
      ]);
      expect(convert(turn(call("a")), { echoReasoning })).toEqual([
        { role: "assistant", content: null, tool_calls: [wireCall("a")], [echoReasoning]: " " },
      ]);
      expect(convert(turn({ type: "text", text: "x" }), { echoReasoning })).toEqual([
        { role: "assistant", content: "x", [echoReasoning]: " " },
      ]);
    },
  );

  it("contain provider metadata only in requests to the provider and model that sent it", () => {
    const extra = { google: { thought_signature: "s" } };
    const items = [{ reasoning_details: [{ type: "t", text: "Hm" }] }, { call: 1, extra_content: extra }];
    const message: Message = {
      role: "assistant",
      content: [call("a"), call("b")],
      providerMetadata: items.map((item) => ({ provider: "openai", model: "m", item })),
    };
    const plain = { role: "assistant", content: null, tool_calls: [wireCall("a"), wireCall("b")] };
    expect(convert(message)).toEqual([
      {
        ...plain,
        tool_calls: [wireCall("a"), { ...wireCall("b"), extra_content: extra }],
        reasoning_details: [{ type: "t", text: "Hm" }],
      },
    ]);
    expect(convert(message, { model: "other" })).toEqual([plain]);
  });

  it("contain the ids that toWireCallId returns, in calls and results", () => {
    const toWireCallId = (callId: string): string => callId.replace(/\W|_/g, "").padEnd(9, "0");
    const [asked] = convert(turn(call("call_1")), { toWireCallId });
    const [answered] = convert({ role: "tool", results: [result("call_1")] }, { toWireCallId });
    expect(asked).toMatchObject({ tool_calls: [{ id: "call10000" }] });
    expect(answered).toMatchObject({ tool_call_id: "call10000" });
  });

  it("are converted only once per provider", () => {
    const toMessages = createMessageConverter(settings);
    const message: Message = { role: "user", content: "hi" };
    expect(toMessages(message)).toBe(toMessages(message));
    expect(toMessages({ ...message })).not.toBe(toMessages(message));
    expect(createMessageConverter(settings)(message)).not.toBe(toMessages(message));
  });
});
