// Counts tokens with o200k_base of OpenAI, because Anthropic publishes no tokenizer.
import { Tiktoken } from "js-tiktoken/lite";
import ranks from "js-tiktoken/ranks/o200k_base";

const encoding = new Tiktoken(ranks);

/** @type {Map<string, number>} */
const counts = new Map();

/** @param {string} text */
export function countTokens(text) {
  const known = counts.get(text);
  if (known !== undefined) return known;
  const count = encoding.encode(text, [], []).length;
  counts.set(text, count);
  return count;
}
