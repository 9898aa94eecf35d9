// The raw events with which services report that an answer is finished.

import { expect, it } from "vitest";
import { RawEnding } from "./model-finish.ts";

const gemini = (finishReason: string | undefined, ...parts: readonly object[]): object => ({
  candidates: [{ content: { parts }, finishReason }],
});
const code = { executableCode: { code: "1" } };
const result = { codeExecutionResult: { output: "1" } };
const counted = (input: number, output: number): object => ({
  inputTokens: input,
  outputTokens: output,
  totalTokens: input + output,
});

it.for<[what: string, events: readonly unknown[], reason: string | undefined, usage: object | undefined]>([
  ["nothing", [null, "x", {}, { choices: 5 }, { choices: [null] }, { candidates: [null] }], undefined, undefined],
  [
    "Chat Completions",
    [{ choices: [{ finish_reason: "tool_calls" }] }, { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }],
    "tool-calls",
    counted(3, 2),
  ],
  ["a server's own word", [{ choices: [{ finish_reason: "weather" }] }], "unknown", undefined],
  [
    "Responses",
    [{ type: "response.completed", response: { usage: { input_tokens: 3, output_tokens: 2 } } }],
    "stop",
    counted(3, 2),
  ],
  [
    "a response that was cut off",
    [{ type: "response.incomplete", response: { incomplete_details: { reason: "max_output_tokens" } } }],
    "length",
    undefined,
  ],
  [
    "Gemini",
    [{ ...gemini("STOP"), usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, thoughtsTokenCount: 1 } }],
    "stop",
    counted(3, 2),
  ],
  ["Gemini with code", [gemini("STOP", code)], undefined, undefined],
  ["Gemini after code", [gemini("STOP", code), gemini(undefined, result), gemini("STOP", { text: "a" })], "stop", undefined],
  ["Gemini before code", [gemini("STOP"), gemini(undefined, code)], undefined, undefined],
  ["Gemini with all in one", [gemini("STOP", code, result, { text: "a" })], "stop", undefined],
])("of %s", ([, events, reason, usage]) => {
  const ending = new RawEnding();
  for (const event of events) ending.read(event);
  expect([ending.finish?.reason, ending.usage]).toEqual([reason, usage]);
});
