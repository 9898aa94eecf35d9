import { expect, it } from "vitest";
import { countBytes, estimateTokens } from "./estimate-tokens.ts";

const encoder = new TextEncoder();

it.for<[text: string, bytes: number, tokens: number]>([
  ["", 0, 0],
  ["a", 1, 1],
  ["abcd", 4, 1],
  ["abcde", 5, 2],
  ["é", 2, 1],
  ["€", 3, 1],
  ["😀", 4, 1],
  ["😀é€a", 10, 3],
  ["\ud83d", 3, 1],
  ["\ude00a", 4, 1],
  ["a\ud83d\ud83d\ude00", 8, 2],
])("countBytes and estimateTokens: for %j, return %d byte(s) and %d token(s)", ([text, bytes, tokens]) => {
  expect([countBytes(text), estimateTokens(text)]).toEqual([bytes, tokens]);
  expect(encoder.encode(text).length).toBe(bytes);
});
