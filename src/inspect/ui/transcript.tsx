import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { showControls } from "../format.ts";
import { type Entry, titleOf } from "./model/entries.ts";
import type { Hit } from "./use-search.ts";
import { formatValue } from "./model/format-value.ts";
import { piecesOf } from "./model/pieces.ts";
import { Boundary } from "./shared-parts.tsx";
import { type EntryActions, EntryView } from "./entry-view.tsx";
import type { TextWindow } from "./safe-text.tsx";
import { type MeasuredList, useMeasuredList } from "./use-measured-list.ts";

/** A place to scroll to. Each jump is a new object, so that a second jump to the same place scrolls again. */
export interface Jump {
  readonly key: string;
  readonly hit?: Hit | undefined;
}

interface TranscriptProps {
  readonly entries: readonly Entry[];
  readonly selected: string;
  readonly jump: Jump | undefined;
  readonly pattern: RegExp | undefined;
  readonly windows: ReadonlyMap<string, TextWindow>;
  readonly actions: EntryActions;
  isOpen(key: string): boolean;
  isRequestOpen(key: string): boolean;
  linkOf(key: string): string;
}

export function Transcript(props: TranscriptProps): JSX.Element {
  const { entries, selected, jump, pattern, windows, actions } = props;
  const keys = useMemo(() => entries.map(({ key }) => key), [entries]);
  const list = useMeasuredList(keys, (index) => estimates[entries[index]?.content.kind ?? "note"]);
  const { scroller, slots, first, end } = list;
  useJump(list, { entries, jump, windows });
  useEffect(() => {
    if (scroller.current !== null) highlightAll(scroller.current, pattern);
  });
  return (
    <section class="transcript" aria-label="Transcript" ref={scroller} tabIndex={0}>
      <div style={{ height: `${list.height}px` }}>
        <div class="slots" ref={slots} style={{ transform: `translateY(${list.top}px)` }}>
          {entries.slice(first, end).map((entry, at) => {
            const { key, content } = entry;
            const state = {
              isSelected: key === selected,
              isRequestOpen: props.isRequestOpen(key),
              isOpen: content.kind === "call" && content.call.runs.length > 0 ? props.isOpen(key) : undefined,
              link: props.linkOf(key),
            };
            return (
              <div key={key} data-index={first + at} class="slot">
                <Boundary part="This entry">
                  <EntryView entry={entry} state={state} actions={actions} />
                </Boundary>
              </div>
            );
          })}
        </div>
      </div>
    </section>
  );
}

const estimates = { system: 200, message: 120, stream: 130, call: 220, note: 40, nested: 40, end: 60 } as const;

interface JumpState extends Pick<TranscriptProps, "entries" | "jump" | "windows"> {}

/** Scrolls to a jump's entry, and then to the search hit in it. The hit's position is known only once the entry is rendered. */
function useJump({ scroller, scrollTo }: MeasuredList, { entries, jump, windows }: JumpState): void {
  const open = useRef<Jump | undefined>(undefined);
  const seen = useRef<Jump | undefined>(undefined);
  if (jump !== seen.current) [seen.current, open.current] = [jump, jump];
  useLayoutEffect(() => {
    const { current } = open;
    const index = entries.findIndex(({ key }) => key === current?.key);
    if (current === undefined || index < 0) return;
    open.current = undefined;
    scrollTo(index);
    const { hit } = current;
    const entry = entries[index];
    clearHit();
    if (hit === undefined || entry === undefined) return;
    const text = textOfHit(entry, hit);
    const window = windows.get(textId(hit)) ?? { start: 0, end: Infinity };
    showHit(hit, { text, window, scroller: scroller.current });
  });
}

interface HitPlace {
  readonly text: string;
  readonly window: TextWindow;
  readonly scroller: HTMLElement | null;
}

const maxFrames = 20;

function showHit(hit: Hit, { scroller, ...text }: HitPlace): void {
  let frame = 0;
  const look = (): void => {
    frame += 1;
    const range = scroller === null ? undefined : highlightHit(scroller, hit, text);
    if (range === undefined || scroller === null) {
      if (frame < maxFrames) requestAnimationFrame(look);
      return;
    }
    const { top, bottom } = range.getBoundingClientRect();
    const view = scroller.getBoundingClientRect();
    if (top < view.top + 40 || bottom > view.bottom - 40) scroller.scrollTop += top - view.top - view.height / 3;
    // Scrolls again in the next few frames, because newly measured entries may move the search hit.
    if (frame < 4) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

function textOfHit(entry: Entry, { piece }: Hit): string {
  if (piece === "title") return titleOf(entry);
  return formatValue(piecesOf(entry).find(({ id }) => id === piece)?.value ?? "");
}

/** The maximum number of highlighted hits. A screen shows fewer. */
const maxRanges = 2000;

function highlightAll(root: HTMLElement, pattern: RegExp | undefined): void {
  const ranges: Range[] = [];
  if (pattern === undefined) return setHighlight("found", ranges);
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (ranges.length < maxRanges && walker.nextNode()) {
    const { currentNode: node } = walker;
    for (const { index, 0: found } of (node.nodeValue ?? "").matchAll(pattern)) {
      ranges.push(rangeOf(node, index, index + found.length));
      if (ranges.length >= maxRanges) break;
    }
  }
  setHighlight("found", ranges);
}

/** Highlights one hit, and returns its range. Returns undefined if the hit's text is not shown. */
function highlightHit(root: HTMLElement, hit: Hit, { text, window }: HitText): Range | undefined {
  const element = root.querySelector(`[data-text="${CSS.escape(textId(hit))}"]`);
  const node = element?.firstChild;
  if (node?.nodeType !== Node.TEXT_NODE) return undefined;
  // Converts to positions in the displayed text, in which one control character becomes several characters.
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

export function textId({ key, piece }: Pick<Hit, "key" | "piece">): string {
  return `${key} ${piece}`;
}

function clearHit(): void {
  setHighlight("found-now", []);
}

function rangeOf(node: Node, from: number, to: number): Range {
  const range = document.createRange();
  range.setStart(node, from);
  range.setEnd(node, to);
  return range;
}

function setHighlight(name: string, ranges: readonly Range[]): void {
  // Does nothing in old browsers, which cannot highlight search hits.
  if (typeof Highlight === "undefined") return;
  if (ranges.length === 0) CSS.highlights.delete(name);
  else CSS.highlights.set(name, Object.assign(new Highlight(...ranges), { priority: name === "found-now" ? 1 : 0 }));
}
