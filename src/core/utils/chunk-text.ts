// Reads the texts of what a provider streams.

import type { ModelChunk } from "../types/provider.ts";

/** The text of a chunk's field. Throws where it has none: that is the provider's mistake. */
export function textIn<Field extends string>(
  chunk: { readonly type: string } & { readonly [Key in Field]: unknown },
  field: Field,
): string {
  const text: unknown = chunk[field];
  if (typeof text === "string") return text;
  throw new TypeError(`A chunk of type "${chunk.type}" must have a text as "${field}".`);
}

/** In place of content that nobody hears: the model works. It is known by identity, and says nothing. */
export const hiddenContent: ModelChunk = { type: "reasoning-delta", text: "" };

/** Whether a chunk adds to the answer. Empty texts, token counts and news of attempts do not. */
export function isContent(chunk: ModelChunk): boolean {
  if ("text" in chunk) return chunk.text !== "" || chunk === hiddenContent;
  return chunk.type !== "usage" && chunk.type !== "attempt-start" && chunk.type !== "attempt-discarded";
}
