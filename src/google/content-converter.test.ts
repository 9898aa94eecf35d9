// Converted messages: sent back unchanged if possible, otherwise written from their neutral parts.

import { describe, expect, it } from "vitest";
import type { AssistantMessage, AssistantPart, Json, Message, ToolMessage, ToolResultPart } from "../core/provider-kit.ts";
import { type ContentSettings, createContentConverter } from "./generate-body.ts";

const settings: ContentSettings = { id: "gcp.gemini", model: "m", generation: 3 };
const placeholder = "skip_thought_signature_validator";

const turnOf = (content: readonly AssistantPart[], ...parts: readonly Json[]): AssistantMessage => ({
  role: "assistant",
  content,
  providerMetadata: parts.map((part) => ({ provider: "gcp.gemini", model: "m", item: { part } })),
});
const text = (said: string): AssistantPart => ({ type: "text", text: said });
const call = (callId: string, name = "f", rest: object = {}): AssistantPart => ({
  type: "tool-call",
  callId,
  name,
  args: {},
  ...rest,
});
const result = (callId: string, rest: Partial<ToolResultPart> = {}): ToolResultPart => ({
  callId,
  name: "f",
  outcome: "completed",
  result: "ok",
  ...rest,
});
const signedCall = { functionCall: { name: "f", args: {} }, thoughtSignature: "s" };

const partsOf = (message: Message, more: Partial<ContentSettings> = {}, before?: Message): readonly unknown[] =>
  createContentConverter({ ...settings, ...more })(message, before, 0).parts;

describe("a turn", () => {
  it("is sent as it came, and its role is the model's", () => {
    const turn = turnOf([text("A"), call("c")], { text: "Hm", thought: true }, { text: "A" }, signedCall);
    expect(createContentConverter(settings)(turn, undefined, 0)).toEqual({
      role: "model",
      parts: [{ text: "Hm", thought: true }, { text: "A" }, signedCall],
    });
  });

  it.for<[what: string, turn: AssistantMessage]>([
    ["without provider metadata", { role: "assistant", content: [text("A"), call("c")] }],
    ["whose text was changed", turnOf([text("A"), call("c")], { text: "B" }, signedCall)],
    [
      "whose call was renamed",
      turnOf([text("A"), call("c")], { text: "A" }, { functionCall: { name: "g" }, thoughtSignature: "s" }),
    ],
    ["that lost a call", turnOf([text("A"), call("c")], { text: "A" }, signedCall, signedCall)],
    ["that got a call", turnOf([text("A"), call("c")], { text: "A" })],
    [
      "whose call has another id",
      turnOf([text("A"), call("c")], { text: "A" }, { functionCall: { id: "x", name: "f" }, thoughtSignature: "s" }),
    ],
    ["whose arguments are no object", turnOf([text("A"), call("c")], { text: "A" }, { functionCall: { name: "f", args: [1] } })],
    ["with a part of another kind", turnOf([text("A"), call("c")], { text: "A" }, "x", signedCall)],
  ])("%s is written anew", ([, turn]) => {
    expect(partsOf(turn)).toEqual([{ text: "A" }, { functionCall: { name: "f", args: {} }, thoughtSignature: placeholder }]);
  });

  it("whose call has a name that the service refuses is written anew", () => {
    const turn = turnOf([call("c", "get weather!")], { functionCall: { name: "get weather!", args: {} }, thoughtSignature: "s" });
    expect(partsOf(turn)).toEqual([{ functionCall: { name: "get_weather_", args: {} }, thoughtSignature: placeholder }]);
  });

  it.for<[what: string, author: object]>([
    ["service", { provider: "gcp.vertex_ai" }],
    ["model", { model: "n" }],
  ])("of which a part is of another $0 is written anew", ([, author]) => {
    const turn = turnOf([text("A")], { text: "A", thoughtSignature: "s" });
    const [part] = turn.providerMetadata ?? [];
    expect(partsOf({ ...turn, providerMetadata: part === undefined ? [] : [{ ...part, ...author }] })).toEqual([{ text: "A" }]);
  });

  it("written anew has its reasoning and ids left out, and names and arguments that the service takes", () => {
    const content: readonly AssistantPart[] = [
      { type: "reasoning", text: "Hm" },
      text("A"),
      call("c1", "get weather!", { providerCallId: "p", args: "{" }),
      text("B"),
      call("c2", "1st"),
      call("c3", ""),
      call("c4", "x".repeat(200)),
    ];
    expect(partsOf({ role: "assistant", content }, { generation: 2 })).toEqual([
      { text: "AB" },
      { functionCall: { name: "get_weather_", args: { INVALID_ARGUMENTS: "{" } } },
      { functionCall: { name: "_1st", args: {} } },
      { functionCall: { name: "_", args: {} } },
      { functionCall: { name: "x".repeat(64), args: {} } },
    ]);
  });

  it("is signed at its first call, where nothing of it is and Gemini 3 reads it", () => {
    const turn: AssistantMessage = { role: "assistant", content: [text("A"), call("c1"), call("c2")] };
    const plain = { functionCall: { name: "f", args: {} } };
    expect(partsOf(turn)).toEqual([{ text: "A" }, { ...plain, thoughtSignature: placeholder }, plain]);
    expect(partsOf(turn, { generation: 2 })).toEqual([{ text: "A" }, plain, plain]);
    expect(partsOf(turnOf([call("c1"), call("c2")], plain, signedCall))).toEqual([plain, signedCall]);
  });

  it.for<[what: string, turn: AssistantMessage]>([
    ["nothing", { role: "assistant", content: [] }],
    ["a blank text", { role: "assistant", content: [text(" ")] }],
    ["reasoning", { role: "assistant", content: [{ type: "reasoning", text: "Hm" }] }],
    ["thoughts", turnOf([], { text: "Hm", thought: true, thoughtSignature: "s" })],
  ])("of %s is left out", ([, turn]) => {
    expect(partsOf(turn)).toEqual([]);
  });
});

describe("the answers of a turn", () => {
  const answerOf = (message: ToolMessage, before?: Message): readonly unknown[] =>
    partsOf(message, {}, before).map((part) => Object(part).functionResponse);

  it("carry the ids of the turn as it is sent", () => {
    const asked: readonly AssistantPart[] = [call("c1", "f", { providerCallId: "p1" }), call("c2")];
    const providerMetadata = turnOf(
      asked,
      { functionCall: { id: "p1", name: "f" }, thoughtSignature: "s" },
      { functionCall: { id: "", name: "f" } },
    );
    const message: ToolMessage = { role: "tool", results: [result("c1"), result("c2")] };
    const answer = { name: "f", response: { output: "ok" } };
    expect(answerOf(message, providerMetadata)).toEqual([{ id: "p1", ...answer }, answer]);
    expect(answerOf(message, { role: "assistant", content: asked })).toEqual([answer, answer]);
    expect(answerOf(message)).toEqual([answer, answer]);
  });

  it.for<[outcome: ToolResultPart["outcome"], key: string]>([
    ["completed", "output"],
    ["restarted", "output"],
    ["failed", "error"],
    ["denied", "error"],
    ["unknown-tool", "error"],
    ["interrupted", "error"],
  ])("of the outcome %s is its %s", ([outcome, key]) => {
    const message: ToolMessage = { role: "tool", results: [result("c", { outcome, result: { a: [1] } })] };
    expect(answerOf(message)).toEqual([{ name: "f", response: { [key]: { a: [1] } } }]);
  });

  it("hold texts beside the result, but no empty ones", () => {
    const content = ["A", "", "B"].map((said) => ({ type: "text", text: said }) as const);
    const message: ToolMessage = { role: "tool", results: [result("c", { content }), result("d", { content: [] })] };
    expect(answerOf(message)).toEqual([
      { name: "f", response: { output: "ok", text: "A\nB" } },
      { name: "f", response: { output: "ok" } },
    ]);
  });

  it("hold images and files that may stand in them, and words for those that cannot be sent; others follow", () => {
    const content = [
      { type: "file", mediaType: "text/csv", data: "YTti" },
      { type: "file", mediaType: "audio/wav", data: "UklG" },
      { type: "file", mediaType: "application/zip", data: "UEs=" },
    ] as const;
    const message: ToolMessage = { role: "tool", results: [result("c", { content })] };
    const text = expect.stringMatching(/^\[The tool returned a file of type application\/zip, .+\]$/);
    const inside = { inlineData: { mimeType: "text/plain", data: "YTti" } };
    const behind = { inlineData: { mimeType: "audio/wav", data: "UklG" } };
    const title = { text: "Content that the tool f returned:" };
    expect(partsOf(message)).toEqual([
      { functionResponse: { name: "f", response: { output: "ok", text }, parts: [inside] } },
      title,
      behind,
    ]);
    expect(partsOf(message, { generation: 2 })).toEqual([
      { functionResponse: { name: "f", response: { output: "ok", text } } },
      title,
      inside,
      behind,
    ]);
  });

  it("have the name that the call has", () => {
    expect(answerOf({ role: "tool", results: [result("c", { name: "get weather!" })] })).toMatchObject([
      { name: "get_weather_" },
    ]);
  });
});

it("each message is converted once, and answers anew for another turn", () => {
  const convert = createContentConverter(settings);
  const turn = turnOf([call("c", "f", { providerCallId: "p" })], { functionCall: { id: "p", name: "f" }, thoughtSignature: "s" });
  const answers: ToolMessage = { role: "tool", results: [result("c")] };
  const user: Message = { role: "user", content: "hi" };
  expect(convert(user, undefined, 0)).toBe(convert(user, turn, 2));
  expect(convert(turn, user, 1)).toBe(convert(turn, undefined, 0));
  expect(convert(answers, turn, 2)).toBe(convert(answers, turn, 2));
  expect(convert(answers, { ...turn, providerMetadata: [] }, 2)).not.toEqual(convert(answers, turn, 2));
});
