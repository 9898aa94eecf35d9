import { diffLines, diffWordsWithSpace } from "diff";
import { sharedStart } from "./json-parts.ts";

/** A piece of a comparison. "same" and "removed" pieces make up the old text, "same" and "added" pieces the new text. */
export interface TextPiece {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** The length above which texts are compared only at their beginning and end. */
const maxComparedLength = 200_000;

/** The number of edits above which texts are compared only at their beginning and end, because each edit makes the comparison slower. */
const maxEdits = { lines: 1_000, words: 1_000 };

/**
 * Compares two texts, and returns the pieces in order. If the texts are long, or have little in common, the result has at most four pieces:
 * the common beginning, the old middle, the new middle, and the common end.
 */
export function diffTexts(before: string, after: string, unit: "lines" | "words" = "lines"): readonly TextPiece[] {
  if (before === after) return before === "" ? [] : [{ kind: "same", text: before }];
  if (Math.max(before.length, after.length) > maxComparedLength) return compareEnds(before, after);
  const options = { maxEditLength: maxEdits[unit], timeout: 500 };
  const changes = unit === "lines" ? diffLines(before, after, options) : diffWordsWithSpace(before, after, options);
  if (changes === undefined) return compareEnds(before, after);
  return changes.map(({ added, removed, value }) => ({ kind: added ? "added" : removed ? "removed" : "same", text: value }));
}

function compareEnds(before: string, after: string): readonly TextPiece[] {
  let start = sharedStart(before, after);
  if (isSplit(before, start) || isSplit(after, start)) start -= 1;
  const most = Math.min(before.length, after.length) - start;
  let end = 0;
  while (end < most && before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end)) end += 1;
  if (isSplit(before, before.length - end) || isSplit(after, after.length - end)) end -= 1;
  const pieces: readonly TextPiece[] = [
    { kind: "same", text: before.slice(0, start) },
    { kind: "removed", text: before.slice(start, before.length - end) },
    { kind: "added", text: after.slice(start, after.length - end) },
    { kind: "same", text: before.slice(before.length - end) },
  ];
  return pieces.filter(({ text }) => text !== "");
}

/** True if the position is inside a surrogate pair. */
function isSplit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  const first = text.charCodeAt(at - 1);
  return code >= 0xdc00 && code <= 0xdfff && first >= 0xd800 && first <= 0xdbff;
}
