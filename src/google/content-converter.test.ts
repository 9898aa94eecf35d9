import { describe, expect, it } from "vitest";
import type { AssistantMessage, Json, Message, ToolMessage, ToolResultPart } from "../core/index.ts";
import type { AssistantPart } from "../core/kit.ts";
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
  createContentConverter({ ...settings, ...more })(message, before).parts;

describe("googleGenerateContent: an assistant message in a request", () => {
  it('is sent back unchanged with the role "model"', () => {
    const turn = turnOf([text("A"), call("c")], { text: "Hm", thought: true }, { text: "A" }, signedCall);
    expect(createContentConverter(settings)(turn, undefined)).toEqual({
      role: "model",
      parts: [{ text: "Hm", thought: true }, { text: "A" }, signedCall],
    });
  });

  it.for<[what: string, turn: AssistantMessage]>([
    ["has no provider metadata", { role: "assistant", content: [text("A"), call("c")] }],
    ["has text that differs from the metadata", turnOf([text("A"), call("c")], { text: "B" }, signedCall)],
    [
      "has a call name that differs from the metadata",
      turnOf([text("A"), call("c")], { text: "A" }, { functionCall: { name: "g" }, thoughtSignature: "s" }),
    ],
    ["lacks a call that the metadata has", turnOf([text("A"), call("c")], { text: "A" }, signedCall, signedCall)],
    ["has a call that the metadata lacks", turnOf([text("A"), call("c")], { text: "A" })],
    [
      "has a call id that differs from the metadata",
      turnOf([text("A"), call("c")], { text: "A" }, { functionCall: { id: "x", name: "f" }, thoughtSignature: "s" }),
    ],
    [
      "has metadata with arguments that are not an object",
      turnOf([text("A"), call("c")], { text: "A" }, { functionCall: { name: "f", args: [1] } }),
    ],
    ["has metadata in a different format", turnOf([text("A"), call("c")], { text: "A" }, "x", signedCall)],
  ])("is rebuilt from text and calls if the message %s", ([, turn]) => {
    expect(partsOf(turn)).toEqual([{ text: "A" }, { functionCall: { name: "f", args: {} }, thoughtSignature: placeholder }]);
  });

  it("is rebuilt from text and calls if the service would reject a call name", () => {
    const turn = turnOf([call("c", "get weather!")], { functionCall: { name: "get weather!", args: {} }, thoughtSignature: "s" });
    expect(partsOf(turn)).toEqual([{ functionCall: { name: "get_weather_", args: {} }, thoughtSignature: placeholder }]);
  });

  it.for<[what: string, author: object]>([
    ["service", { provider: "gcp.vertex_ai" }],
    ["model", { model: "n" }],
  ])("is rebuilt from text and calls if a part comes from a different %s", ([, author]) => {
    const turn = turnOf([text("A")], { text: "A", thoughtSignature: "s" });
    const [part] = turn.providerMetadata ?? [];
    expect(partsOf({ ...turn, providerMetadata: part === undefined ? [] : [{ ...part, ...author }] })).toEqual([{ text: "A" }]);
  });

  it("is rebuilt with valid names and arguments, without reasoning or ids", () => {
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

  it("gets a placeholder signature on the first call for Gemini 3 if all signatures are missing", () => {
    const turn: AssistantMessage = { role: "assistant", content: [text("A"), call("c1"), call("c2")] };
    const plain = { functionCall: { name: "f", args: {} } };
    expect(partsOf(turn)).toEqual([{ text: "A" }, { ...plain, thoughtSignature: placeholder }, plain]);
    expect(partsOf(turn, { generation: 2 })).toEqual([{ text: "A" }, plain, plain]);
    expect(partsOf(turnOf([call("c1"), call("c2")], plain, signedCall))).toEqual([plain, signedCall]);
  });

  it.for<[what: string, turn: AssistantMessage]>([
    ["no content", { role: "assistant", content: [] }],
    ["only blank text", { role: "assistant", content: [text(" ")] }],
    ["only reasoning", { role: "assistant", content: [{ type: "reasoning", text: "Hm" }] }],
    ["only thoughts", turnOf([], { text: "Hm", thought: true, thoughtSignature: "s" })],
  ])("is omitted if it has %s", ([, turn]) => {
    expect(partsOf(turn)).toEqual([]);
  });
});

describe("googleGenerateContent: tool results in a request", () => {
  const answerOf = (message: ToolMessage, before?: Message): readonly unknown[] =>
    partsOf(message, {}, before).map((part) => Object(part).functionResponse);

  it("have the same call ids as the calls in the assistant message", () => {
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

  it.for<[key: string, outcome: ToolResultPart["outcome"]]>([
    ["output", "completed"],
    ["output", "restarted"],
    ["error", "failed"],
    ["error", "denied"],
    ["error", "unknown-tool"],
    ["error", "interrupted"],
  ])('are sent in the field "%s" if their outcome is "%s"', ([key, outcome]) => {
    const message: ToolMessage = { role: "tool", results: [result("c", { outcome, result: { a: [1] } })] };
    expect(answerOf(message)).toEqual([{ name: "f", response: { [key]: { a: [1] } } }]);
  });

  it("contain the additional text parts of a result, except empty ones", () => {
    const content = ["A", "", "B"].map((said) => ({ type: "text", text: said }) as const);
    const message: ToolMessage = { role: "tool", results: [result("c", { content }), result("d", { content: [] })] };
    expect(answerOf(message)).toEqual([
      { name: "f", response: { output: "ok", text: "A\nB" } },
      { name: "f", response: { output: "ok" } },
    ]);
  });

  it("contain files, or a note for each unsupported file", () => {
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

  it("have a name that the service accepts", () => {
    expect(answerOf({ role: "tool", results: [result("c", { name: "get weather!" })] })).toMatchObject([
      { name: "get_weather_" },
    ]);
  });
});

it("googleGenerateContent: reuses converted messages, but converts results again if the assistant message before them is different", () => {
  const convert = createContentConverter(settings);
  const turn = turnOf([call("c", "f", { providerCallId: "p" })], { functionCall: { id: "p", name: "f" }, thoughtSignature: "s" });
  const answers: ToolMessage = { role: "tool", results: [result("c")] };
  const user: Message = { role: "user", content: "hi" };
  expect(convert(user, undefined)).toBe(convert(user, turn));
  expect(convert(turn, user)).toBe(convert(turn, undefined));
  expect(convert(answers, turn)).toBe(convert(answers, turn));
  expect(convert(answers, { ...turn, providerMetadata: [] })).not.toEqual(convert(answers, turn));
});
