// Highlights the search hits in the transcript, without adding elements.

import type { Hit } from "./model/find-hits.ts";
import { showControls } from "../show-controls.ts";
import { type TextWindow } from "./safe-text.tsx";

/** The maximum number of ranges: more than a reader can see. */
const mostRanges = 2000;

/** Highlights all hits inside an element. */
export function highlightAll(root: HTMLElement, pattern: RegExp | undefined): void {
  const ranges: Range[] = [];
  if (pattern === undefined) return setHighlight("found", ranges);
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (ranges.length < mostRanges && walker.nextNode()) {
    const { currentNode: node } = walker;
    for (const { index, 0: found } of (node.nodeValue ?? "").matchAll(pattern)) {
      ranges.push(rangeOf(node, index, index + found.length));
      if (ranges.length >= mostRanges) break;
    }
  }
  setHighlight("found", ranges);
}

/** Highlights one hit, and returns its range. Returns undefined if its text is not shown. */
export function highlightHit(root: HTMLElement, hit: Hit, { text, window }: HitText): Range | undefined {
  const element = root.querySelector(`[data-text="${CSS.escape(textId(hit))}"]`);
  const node = element?.firstChild;
  if (node?.nodeType !== Node.TEXT_NODE) return undefined;
  // Control characters are longer on the page than in the text.
  const shownLength = (to: number): number => showControls(text.slice(window.start, to)).length;
  const [from, to] = [shownLength(hit.offset), shownLength(hit.offset + hit.length)];
  if (to > (node.nodeValue ?? "").length) return undefined;
  const range = rangeOf(node, from, to);
  setHighlight("found-now", [range]);
  return range;
}

interface HitText {
  readonly text: string;
  readonly window: TextWindow;
}

/** Returns the id of the text that has a hit. */
export function textId({ key, piece }: Pick<Hit, "key" | "piece">): string {
  return `${key} ${piece}`;
}

export function clearHit(): void {
  setHighlight("found-now", []);
}

function rangeOf(node: Node, from: number, to: number): Range {
  const range = document.createRange();
  range.setStart(node, from);
  range.setEnd(node, to);
  return range;
}

function setHighlight(name: string, ranges: readonly Range[]): void {
  // Old browsers find hits too, but do not mark them.
  if (typeof Highlight === "undefined") return;
  if (ranges.length === 0) CSS.highlights.delete(name);
  else CSS.highlights.set(name, Object.assign(new Highlight(...ranges), { priority: name === "found-now" ? 1 : 0 }));
}
