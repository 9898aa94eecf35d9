import type { ModelChunk } from "../../src/core/index.ts";
import { createResponsesReader } from "../../src/openai/responses-events.ts";

export type Fields = { readonly [field: string]: unknown };

interface ReadOptions {
  readonly store?: boolean;
}

export function read(events: readonly unknown[], { store = false }: ReadOptions = {}): readonly ModelChunk[] {
  const out: ModelChunk[] = [];
  const all: ModelChunk[] = [];
  const reader = createResponsesReader(out, store);
  for (const event of events) {
    if (!reader.failed) reader.read(event);
    all.push(...out.splice(0));
  }
  reader.end();
  return [...all, ...out];
}

function say(chunk: ModelChunk): string | undefined {
  if (chunk.type === "text-delta" || chunk.type === "refusal-delta" || chunk.type === "reasoning-delta") {
    return `${chunk.type.replace("-delta", "")} ${JSON.stringify(chunk.text)}`;
  }
  if (chunk.type === "call-start") return `start ${chunk.key} ${chunk.id} ${chunk.name}`;
  if (chunk.type === "call-args-delta") return `args ${chunk.key} ${chunk.text}`;
  if (chunk.type === "call-ready") {
    const { key, id, name, args, problem } = chunk;
    return [`ready ${key} ${id} ${name} ${JSON.stringify(args)}`, ...(problem === undefined ? [] : [problem])].join(" ");
  }
  if (chunk.type === "finish") return `finish ${chunk.reason} ${chunk.raw}`;
  if (chunk.type === "error") return `error ${chunk.error.code} ${chunk.error.message}`;
  return chunk.type === "provider-metadata" ? undefined : chunk.type;
}

export const brief = (chunks: readonly ModelChunk[]): readonly string[] => chunks.flatMap((chunk) => say(chunk) ?? []);

export const metadataOf = (chunks: readonly ModelChunk[]): readonly unknown[] =>
  chunks.flatMap((chunk) => (chunk.type === "provider-metadata" ? [chunk.item] : []));

export const added = (index: unknown, item: Fields): Fields => ({
  type: "response.output_item.added",
  output_index: index,
  item,
});
export const done = (index: unknown, item: Fields): Fields => ({ type: "response.output_item.done", output_index: index, item });
export const at = (type: string, [index, id]: readonly [index: unknown, id: unknown], fields: Fields): Fields => ({
  type: `response.${type}`,
  output_index: index,
  item_id: id,
  ...fields,
});
export const piece = (index: unknown, id: unknown, delta: string): Fields =>
  at("output_text.delta", [index, id], { content_index: 0, delta });
export const argsPiece = (index: unknown, id: unknown, delta: string): Fields =>
  at("function_call_arguments.delta", [index, id], { delta });
export const message = (id: unknown, text: string, rest: Fields = {}): Fields => ({
  type: "message",
  id,
  role: "assistant",
  content: [{ type: "output_text", text }],
  ...rest,
});
export const call = (id: unknown, callId: unknown, args: unknown): Fields => ({
  type: "function_call",
  id,
  call_id: callId,
  name: "f",
  arguments: args,
});
export const completed = (...output: readonly unknown[]): Fields => ({
  type: "response.completed",
  response: { status: "completed", output },
});
export const incomplete = (reason: string, ...output: readonly unknown[]): Fields => ({
  type: "response.incomplete",
  response: { status: "incomplete", incomplete_details: { reason }, output },
});
