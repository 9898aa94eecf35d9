// The tokens that a scripted turn reports unless told otherwise: an estimate that is the same on every machine.

import { memoize, type ModelChunk, type ModelRequest, type Usage } from "../core/entry-kit.ts";
import type { MockPart } from "./mock-parts.ts";

/** Estimates one iteration at four characters a token, of what was sent and of what was scripted. */
export function estimateUsage(request: ModelRequest, parts: readonly MockPart[]): Usage {
  const inputTokens = Math.ceil(
    (sum(request.messages, lengthOf) + sum(request.tools, lengthOf) + (request.system ?? "").length) / 4,
  );
  const outputTokens = Math.ceil(sum(parts, spokenLengthOf) / 4);
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
}

/** A long run measures each message and each definition once. */
const lengthOf = memoize((item: object) => JSON.stringify(item).length);

function spokenLengthOf(part: MockPart): number {
  if (part.kind === "call") return part.name.length + part.argsText.length;
  return part.kind === "chunks" ? sum(part.chunks, textLengthOf) : 0;
}

function textLengthOf(chunk: ModelChunk): number {
  return "text" in chunk ? chunk.text.length : 0;
}

function sum<T>(items: readonly T[], measure: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += measure(item);
  return total;
}
