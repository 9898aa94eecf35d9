// Finds calls that a server left in the text of an answer, in the format of the model.

import type { ModelChunk, ModelRequest } from "../types/provider.ts";
import type { EventReader } from "./read-sdk-stream.ts";
import { wrapReader } from "./wrap-reader.ts";

/**
 * Each ends the text of an answer whose calls the server could not read. Something that may end a call precedes the closing mark,
 * because an answer about the format may end with the mark itself.
 */
const closings: readonly RegExp[] = [
  // DeepSeek V4 (github.com/sgl-project/sglang/issues/40236, github.com/TokenRhythm/opensquilla/issues/985,
  // github.com/AgentFlocks/flocks/pull/687).
  /<\/ ?[|｜]{1,2} ?DSML ?[|｜]{1,2} ?\w+>$/,
  // Kimi (github.com/NousResearch/hermes-agent/issues/24534, github.com/MoonshotAI/Kimi-K2/issues/89).
  /[>}\n]\s*<\|tool_calls?(?:_section)?_end\|>$/,
  // MiniMax (github.com/MiniMax-AI/MiniMax-M2.5/issues/10, github.com/MiniMax-AI/MiniMax-M3/issues/31,
  // github.com/NousResearch/hermes-agent/issues/35935).
  /[>\n]\s*<\/minimax:tool_call>$|[}\n]\s*\[\/TOOL_CALL\]$/,
  // Qwen and GLM (github.com/QwenLM/qwen-code/issues/3730, github.com/theroyallab/tabbyAPI/pull/378).
  /(?:[>}[\n]|<tool_call>[\w.-]{1,64})\s*<\/tool_call>$/,
];

/** More characters than any closing mark and the space after it. */
const tailLength = 100;

/**
 * If the text of an answer without calls ends with a call, the finish reason becomes "malformed-call", so that the model is asked
 * again. The call is not run, because a model may also write such text when it quotes a page. If an answer has no text, its
 * reasoning is searched. Returns `reader` if the model may not call tools.
 */
export function watchLeaks(reader: EventReader, out: ModelChunk[], { tools, toolChoice }: ModelRequest): EventReader {
  if (tools.length === 0 || toolChoice === "none") return reader;
  let [text, reasoning, hasCalls] = ["", "", false];
  const watch = (chunk: ModelChunk): ModelChunk => {
    if (chunk.type === "text-delta") text = addTail(text, chunk.text);
    if (chunk.type === "reasoning-delta") reasoning = addTail(reasoning, chunk.text);
    hasCalls ||= chunk.type === "call-start" || chunk.type === "call-ready";
    if (chunk.type !== "finish" || chunk.reason !== "stop" || hasCalls) return chunk;
    const end = (text.trim() === "" ? reasoning : text).trimEnd();
    return closings.some((closing) => closing.test(end)) ? { ...chunk, reason: "malformed-call" } : chunk;
  };
  return wrapReader(
    () => reader,
    () => {
      for (const [index, chunk] of out.entries()) out[index] = watch(chunk);
    },
  );
}

function addTail(tail: string, text: string): string {
  return (tail + text.slice(-tailLength)).slice(-tailLength);
}
