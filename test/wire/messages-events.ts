import type { ModelChunk } from "../../src/core/index.ts";
import { createMessagesReader } from "../../src/anthropic/messages-events.ts";

export type Fields = { readonly [field: string]: unknown };

export const opening = (message: Fields = {}): Fields => ({
  type: "message_start",
  message: { content: [], stop_reason: null, ...message },
});
export const begin = (index: number, block: Fields): Fields => ({ type: "content_block_start", index, content_block: block });
export const delta = (index: number, fields: Fields): Fields => ({ type: "content_block_delta", index, delta: fields });
const end = (index: number): Fields => ({ type: "content_block_stop", index });
export const text = (index: number, content: string): readonly Fields[] => [
  begin(index, { type: "text", text: "" }),
  delta(index, { type: "text_delta", text: content }),
  end(index),
];
export const thinking = (index: number, signature?: string): readonly Fields[] => [
  begin(index, { type: "thinking", thinking: "", signature: "" }),
  delta(index, { type: "thinking_delta", thinking: "Hm" }),
  ...(signature === undefined ? [] : [delta(index, { type: "signature_delta", signature })]),
  end(index),
];
export const input = (index: number, block: Fields, ...pieces: readonly string[]): readonly Fields[] => [
  begin(index, { input: {}, ...block }),
  ...pieces.map((piece) => delta(index, { type: "input_json_delta", partial_json: piece })),
  end(index),
];
export const call = (index: number, ...pieces: readonly string[]): readonly Fields[] =>
  input(index, { type: "tool_use", id: `t${index}`, name: "f" }, ...pieces);
export const stop = (reason: string, rest: Fields = {}): readonly Fields[] => [
  { type: "message_delta", delta: { stop_reason: reason, ...rest }, usage: {} },
  { type: "message_stop" },
];

export function read(events: readonly unknown[]): readonly ModelChunk[] {
  const out: ModelChunk[] = [];
  const reader = createMessagesReader(out);
  for (const event of events) if (!reader.failed) reader.read(event);
  reader.end();
  return out;
}
