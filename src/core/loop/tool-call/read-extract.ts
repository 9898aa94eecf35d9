// Reads what an extractor answers: code of the caller's own, whose numbers go into sums that limits are judged by.

import type { ExtractedResult } from "../../types/results.ts";
import type { Usage } from "../../types/usage.ts";
import { isRecord } from "../../utils/is-record.ts";
import { countOf, readUsage } from "../../utils/read-foreign.ts";

/** The answer of an extractor, looked through. Throws a TypeError where it is neither a text nor `{ text, usage?, model? }`. */
export function readExtract(answer: unknown): ExtractedResult {
  if (typeof answer === "string") return { text: answer };
  if (!isRecord(answer) || typeof answer["text"] !== "string")
    throw new TypeError("It gave neither a text nor { text, usage? }.");
  const { text, usage, model } = answer;
  return usage === undefined ? { text } : { text, usage: toUsage(usage), model: toModel(model) };
}

function toUsage(given: unknown): Usage {
  const isSaid = isRecord(given) && countOf(given.inputTokens) !== undefined && countOf(given.outputTokens) !== undefined;
  if (!isSaid) throw new TypeError("Its usage does not say inputTokens and outputTokens.");
  return readUsage(given);
}

function toModel(given: unknown): ExtractedResult["model"] {
  if (!isRecord(given)) return undefined;
  const { provider, model } = given;
  return typeof provider === "string" && typeof model === "string" ? { provider, model } : undefined;
}
