import type { LanguageModelV4StreamPart, LanguageModelV4Text, LanguageModelV4ToolCall } from "@ai-sdk/provider";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai-v7/test";

type Part = LanguageModelV4Text | LanguageModelV4ToolCall;

export const usage = {
  inputTokens: { total: 9, noCache: 9, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
};

export function say(text: string): LanguageModelV4Text {
  return { type: "text", text };
}

export function callTool(toolName: string, args: object): LanguageModelV4ToolCall {
  return { type: "tool-call", toolCallId: "call_1", toolName, input: JSON.stringify(args) };
}

function finishOf(turn: readonly Part[]): { readonly unified: "tool-calls" | "stop"; readonly raw: undefined } {
  return { unified: turn.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop", raw: undefined };
}

function toStreamParts(turn: readonly Part[]): LanguageModelV4StreamPart[] {
  const parts = turn.flatMap((part, index): LanguageModelV4StreamPart[] => {
    if (part.type === "tool-call") return [part];
    const id = `text_${index}`;
    return [
      { type: "text-start", id },
      { type: "text-delta", id, delta: part.text },
      { type: "text-end", id },
    ];
  });
  return [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason: finishOf(turn), usage }];
}

/** The model answers each request with the next of the `turns`. */
export function createModel(turns: readonly (readonly Part[])[]): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doGenerate: turns.map((turn) => ({ content: [...turn], finishReason: finishOf(turn), usage, warnings: [] })),
    doStream: turns.map((turn) => ({ stream: convertArrayToReadableStream(toStreamParts(turn)) })),
  });
}
