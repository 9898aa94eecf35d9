import type { ModelChunk } from "../../src/core/index.ts";
import { createChatReader } from "../../src/openai/chat-events.ts";

export type Fields = { readonly [field: string]: unknown };

export const choice = (delta: unknown, rest: Fields = {}): Fields => ({
  id: "1",
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, finish_reason: null, ...rest }],
});
export const text = (content: string): Fields => choice({ content });
export const finish = (reason: string): Fields => choice({}, { finish_reason: reason });
export const call = (args: string): Fields =>
  choice({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: args } }] });

export const usage: Fields = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

export function read(chunks: readonly unknown[]): readonly ModelChunk[] {
  const out: ModelChunk[] = [];
  const reader = createChatReader(out);
  for (const chunk of chunks) if (!reader.failed) reader.read(chunk);
  reader.end();
  return out;
}

export const linesOf = (chunks: readonly ModelChunk[]): readonly string[] =>
  chunks.map((chunk) => {
    if (chunk.type === "call-ready") return `ready ${chunk.name} ${chunk.problem ?? JSON.stringify(chunk.args)}`;
    if (chunk.type === "finish") return `finish ${chunk.reason} (${chunk.raw})`;
    if (chunk.type === "usage") return `usage ${chunk.usage.inputTokens} ${chunk.usage.outputTokens} ${chunk.mode}`;
    if (chunk.type === "error") return `error ${chunk.error.code}: ${chunk.error.message}`;
    if (chunk.type === "call-start") return `start ${chunk.name}`;
    return "text" in chunk ? `${chunk.type.replace("-delta", "")} ${chunk.text}` : chunk.type;
  });
