// Finds a text in all entries of a run. Reads the texts one by one and keeps none of them.

import { type Entry, titleOf } from "./entries.ts";
import { formatValue } from "./format-value.ts";
import { piecesOf } from "./pieces.ts";

export interface Hit {
  /** The key of the entry. A live run gets entries between others, so their positions change. */
  readonly key: string;
  /** The id of the piece, or "title". */
  readonly piece: string;
  readonly offset: number;
  readonly length: number;
}

/** The search stops at this number of hits. */
export const mostHits = 10_000;

/** Returns a pattern that finds a text without regard to case. */
export function patternOf(query: string): RegExp {
  return new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
}

/** Yields after each entry, so that the caller can pause. Adds to `hits`. */
export function* findHits(entries: readonly Entry[], pattern: RegExp, hits: Hit[]): Generator<void, void> {
  for (const entry of entries) {
    const texts = [{ id: "title", value: titleOf(entry) as unknown }, ...piecesOf(entry)];
    for (const { id, value } of texts) {
      for (const { index: offset, 0: found } of formatValue(value).matchAll(pattern)) {
        hits.push({ key: entry.key, piece: id, offset, length: found.length });
        if (hits.length >= mostHits) return;
      }
    }
    yield;
  }
}
