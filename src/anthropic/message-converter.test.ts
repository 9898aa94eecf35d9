import { describe, expect, it } from "vitest";
import type { AssistantPart } from "../core/kit.ts";
import { idRules, toWireId } from "../shared/adapters/wire-names.ts";
import type { Json, Message, ToolResultPart } from "../core/index.ts";
import { createMessageConverter } from "./messages-body.ts";

const reader = { id: "anthropic", model: "m" };
const convert = (message: Message): object => createMessageConverter(reader)(message).wire;

const turn = (...content: readonly AssistantPart[]): Message => ({ role: "assistant", content });
const said = (text: string): AssistantPart => ({ type: "text", text });
const call = (callId: string, args: Json = {}): AssistantPart => ({ type: "tool-call", callId, name: "f", args });
const result = (callId: string, rest: Partial<ToolResultPart> = {}): ToolResultPart => ({
  callId,
  name: "f",
  outcome: "completed",
  result: "ok",
  ...rest,
});
const wireText = (text: string): object => ({ type: "text", text });
const wireCall = (id: string, input: object = {}, name = "f"): object => ({ type: "tool_use", id, name, input });
const wireResult = (id: string, rest: object = { content: "ok" }): object => ({ type: "tool_result", tool_use_id: id, ...rest });
const image = { type: "image", mediaType: "image/png", data: "eA==" } as const;
const zip = { type: "file", mediaType: "application/zip", data: "UEs=" } as const;
const wireImage = { type: "image", source: { type: "base64", media_type: "image/png", data: "eA==" } };

describe("anthropicMessages: the messages of a request", () => {
  it.for<[what: string, message: Message, content: readonly object[]]>([
    ["a user message with text", { role: "user", content: "hi" }, [wireText("hi")]],
    [
      "a user message with an image",
      { role: "user", content: [{ type: "text", text: "see" }, image] },
      [wireText("see"), wireImage],
    ],
    ["an assistant message with text", turn(said("Hel"), said("lo")), [wireText("Hello")]],
    ["an assistant message without its trailing whitespace", turn(said(" Hello \n")), [wireText(" Hello")]],
    ["an assistant message with reasoning and text", turn({ type: "reasoning", text: "Hm" }, said("Hello")), [wireText("Hello")]],
    [
      "an assistant message with text and tool calls",
      turn(said("Hm."), call("a"), call("b", { n: 1 })),
      [wireText("Hm."), wireCall("a"), wireCall("b", { n: 1 })],
    ],
    ["no blocks for an empty assistant message", turn(), []],
    ["no blocks for a blank assistant message", turn(said(" \n")), []],
    [
      "the model's arguments for a call, even if an approval changed the arguments",
      turn({ type: "tool-call", callId: "a", name: "f", args: { n: 1 }, approvedArgs: { n: 2 } }),
      [wireCall("a", { n: 1 })],
    ],
    ["a call with arguments that are not an object", turn(call("a", [1])), [wireCall("a", { INVALID_JSON: [1] })]],
    [
      "a call with an argument named __proto__",
      turn(call("a", JSON.parse('{"__proto__":{"x":1}}'))),
      [wireCall("a", JSON.parse('{"__proto__":{"x":1}}'))],
    ],
    [
      "a call with invalid characters in the tool name",
      turn({ type: "tool-call", callId: "a", name: "functions.get weather!", args: {} }),
      [wireCall("a", {}, "functions_get_weather_")],
    ],
    [
      "a call with a tool name that is too long",
      turn({ type: "tool-call", callId: "a", name: "x".repeat(99), args: {} }),
      [wireCall("a", {}, "x".repeat(64))],
    ],
    [
      "a call with invalid characters in the call id",
      turn(call("functions.f:0")),
      [wireCall(toWireId("functions.f:0", idRules.anthropic))],
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
          result("e.1"),
        ],
      },
      [
        wireResult("a"),
        wireResult("b", { content: '{"n":[1,null]}' }),
        wireResult("c", { content: "null" }),
        wireResult("d", {}),
        wireResult(toWireId("e.1", idRules.anthropic)),
      ],
    ],
    [
      "a tool result with additional text and an image",
      { role: "tool", results: [result("a", { content: [{ type: "text", text: "and more" }, image] })] },
      [wireResult("a", { content: [wireText("ok"), wireText("and more"), wireImage] })],
    ],
    [
      "a note for the model if a tool result has an unsupported file",
      { role: "tool", results: [result("a", { content: [zip, image] })] },
      [
        wireResult("a", {
          content: [
            wireText("ok"),
            wireText(expect.stringMatching(/^\[The tool returned a file of type application\/zip, .+\]$/)),
            wireImage,
          ],
        }),
      ],
    ],
    [
      "an empty tool result with an image",
      { role: "tool", results: [result("a", { result: " ", content: [image] })] },
      [wireResult("a", { content: [wireImage] })],
    ],
  ])("contain %s", ([, message, content]) => {
    expect(convert(message)).toEqual({ role: message.role === "assistant" ? "assistant" : "user", content });
  });

  it.for<[verb: "contain" | "omit", outcome: ToolResultPart["outcome"]]>([
    ["omit", "completed"],
    ["omit", "restarted"],
    ["contain", "failed"],
    ["contain", "timed-out"],
    ["contain", "blocked"],
    ["contain", "denied"],
    ["contain", "unknown-tool"],
    ["contain", "invalid-input"],
    ["contain", "malformed"],
    ["contain", "truncated"],
    ["contain", "interrupted"],
    ["contain", "not-run"],
    ["contain", "limit"],
  ])('%s is_error if a tool result has the outcome "%s"', ([verb, outcome]) => {
    expect(convert({ role: "tool", results: [result("a", { outcome })] })).toEqual({
      role: "user",
      content: [wireResult("a", { content: "ok", ...(verb === "contain" ? { is_error: true } : {}) })],
    });
  });

  it("are converted only once per provider", () => {
    const toWire = createMessageConverter(reader);
    const message: Message = { role: "user", content: "hi" };
    expect(toWire(message)).toBe(toWire(message));
    expect(toWire({ ...message })).not.toBe(toWire(message));
    expect(createMessageConverter(reader)(message)).not.toBe(toWire(message));
  });
});
