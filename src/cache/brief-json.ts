import { isRecord } from "../core/entry-kit.ts";

/**
 * Writes a value as JSON, cut to `longest` UTF-16 units with "…" at the end. Reads no more of the value than it writes, because a
 * value can be a whole document.
 */
export function briefJson(value: unknown, longest: number): string {
  const pieces = piecesOf(value, longest);
  let text = "";
  for (const piece of pieces) {
    text += piece;
    if (text.length > longest) return `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, "")}…`;
  }
  return text;
}

function* piecesOf(value: unknown, longest: number): Generator<string> {
  if (Array.isArray(value)) {
    yield "[";
    for (let index = 0; index < value.length; index += 1) {
      if (index > 0) yield ",";
      yield* piecesOf(value[index], longest);
    }
    yield "]";
  } else if (isRecord(value)) {
    let separator = "{";
    // Unlike Object.entries, this loop does not read all keys first.
    for (const key in value) {
      yield `${separator}${scalarOf(key, longest)}:`;
      yield* piecesOf(value[key], longest);
      separator = ",";
    }
    yield separator === "{" ? "{}" : "}";
  } else yield scalarOf(value, longest);
}

/** A string is cut before it is written, because it may have millions of characters. */
function scalarOf(value: unknown, longest: number): string {
  if (typeof value !== "string" || value.length <= longest) return JSON.stringify(value);
  return JSON.stringify(value.slice(0, longest)).slice(0, -1);
}
