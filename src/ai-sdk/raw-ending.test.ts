import { expect, it } from "vitest";
import { RawEnding } from "./model-end.ts";

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
  [
    "no finish reason from malformed events",
    [null, "x", {}, { choices: 5 }, { choices: [null] }, { candidates: [null] }],
    undefined,
    undefined,
  ],
  [
    "the finish reason and usage of a Chat Completions stream",
    [{ choices: [{ finish_reason: "tool_calls" }] }, { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }],
    "tool-calls",
    counted(3, 2),
  ],
  ["an unknown finish reason from Chat Completions", [{ choices: [{ finish_reason: "weather" }] }], "unknown", undefined],
  [
    "the finish reason and usage of a Responses stream",
    [{ type: "response.completed", response: { usage: { input_tokens: 3, output_tokens: 2 } } }],
    "stop",
    counted(3, 2),
  ],
  [
    "the finish reason of an incomplete response",
    [{ type: "response.incomplete", response: { incomplete_details: { reason: "max_output_tokens" } } }],
    "length",
    undefined,
  ],
  [
    "the finish reason and usage of a Gemini stream",
    [{ ...gemini("STOP"), usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, thoughtsTokenCount: 1 } }],
    "stop",
    counted(3, 2),
  ],
  ["no finish reason from Gemini code without its result", [gemini("STOP", code)], undefined, undefined],
  [
    "the finish reason of Gemini text after code and its result",
    [gemini("STOP", code), gemini(undefined, result), gemini("STOP", { text: "a" })],
    "stop",
    undefined,
  ],
  ["no finish reason if Gemini code follows", [gemini("STOP"), gemini(undefined, code)], undefined, undefined],
  [
    "the finish reason of one Gemini event with code, result and text",
    [gemini("STOP", code, result, { text: "a" })],
    "stop",
    undefined,
  ],
])("aiSdkModel with raw chunks: reads %s", ([, events, reason, usage]) => {
  const ending = new RawEnding();
  for (const event of events) ending.read(event);
  expect([ending.finish?.reason, ending.usage]).toEqual([reason, usage]);
});
