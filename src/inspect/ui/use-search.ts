import { useEffect, useState } from "preact/hooks";
import { formatCount } from "../format.ts";
import { type Entry, titleOf } from "./model/entries.ts";
import { formatValue } from "./model/format-value.ts";
import { piecesOf } from "./model/pieces.ts";
import { workInSlices } from "./work-in-slices.ts";

export interface Search {
  readonly pattern: RegExp | undefined;
  readonly hits: readonly Hit[];
  readonly isDone: boolean;
}

const idle: Search = { pattern: undefined, hits: [], isDone: true };

const typingMs = 120;
const showEachMs = 150;

/** Searches when the query changes. Entries that a live run adds later are found only by the next search. */
export function useSearch(query: string, entries: readonly Entry[]): Search {
  const [found, setFound] = useState({ query: "", search: idle });
  useEffect(() => {
    if (query === "") return undefined;
    const pattern = patternOf(query);
    const hits: Hit[] = [];
    const steps = findHits(entries, pattern, hits);
    let shownAt = 0;
    return workInSlices(steps, typingMs, (isDone) => {
      if (!isDone && performance.now() - shownAt <= showEachMs) return;
      shownAt = performance.now();
      setFound({ query, search: { pattern, hits: [...hits], isDone } });
    });
  }, [query]);
  // Returns an unfinished search until the effect has started the new one in a later frame.
  return found.query === query ? found.search : { ...idle, isDone: query === "" };
}

export function countHits({ hits, isDone, pattern }: Search, current: number | undefined): string {
  if (pattern === undefined) return "";
  if (hits.length === 0) return isDone ? "no hits" : "searching";
  const count = `${formatCount(hits.length)}${hits.length >= maxHits || !isDone ? "+" : ""}`;
  return current === undefined ? `${count} hit${hits.length === 1 ? "" : "s"}` : `${formatCount(current + 1)} of ${count}`;
}

export interface Hit {
  /** The entry's key. Its position is not used, because it changes while a live run grows. */
  readonly key: string;
  /** The id of the piece, or "title". */
  readonly piece: string;
  readonly offset: number;
  readonly length: number;
}

const maxHits = 10_000;

export function patternOf(query: string): RegExp {
  return new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
}

/** Adds each match to `hits`. Yields after each entry, so that the caller can pause. */
export function* findHits(entries: readonly Entry[], pattern: RegExp, hits: Hit[]): Generator<void, void> {
  for (const entry of entries) {
    const texts = [{ id: "title", value: titleOf(entry) as unknown }, ...piecesOf(entry)];
    for (const { id, value } of texts) {
      for (const { index: offset, 0: found } of formatValue(value).matchAll(pattern)) {
        hits.push({ key: entry.key, piece: id, offset, length: found.length });
        if (hits.length >= maxHits) return;
      }
    }
    yield;
  }
}
