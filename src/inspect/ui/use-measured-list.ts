// Renders only the visible items of a list, and measures their heights.

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";

export interface MeasuredList {
  readonly scroller: RefObject<HTMLDivElement | null>;
  /** The element whose children are the rendered items. */
  readonly slots: RefObject<HTMLDivElement | null>;
  /** The rendered items, from `first` up to but not including `end`. */
  readonly first: number;
  readonly end: number;
  readonly top: number;
  readonly height: number;
  scrollTo(index: number): void;
}

const overscan = 4;

/** Determines which items of a list to render. Pass a new list as `keys` if the items have changed. */
export function useMeasuredList(keys: readonly string[], estimate: (index: number) => number): MeasuredList {
  const scroller = useRef<HTMLDivElement>(null);
  const slots = useRef<HTMLDivElement>(null);
  const [layout] = useState(() => new ListLayout());
  const [, update] = useReducer((version: number, _: undefined) => version + 1, 0);
  const scrolledTo = useRef(0);
  /**
   * Stores the new position after the reader has scrolled. Browsers round positions, so a difference of less than a pixel does not count.
   */
  const readScroll = (): void => {
    const top = scroller.current?.scrollTop ?? 0;
    if (Math.abs(top - scrolledTo.current) < 1) return;
    scrolledTo.current = top;
    layout.holdAt(top);
  };
  const findShown = (): { readonly first: number; readonly end: number } => {
    const top = layout.heldTop;
    const first = Math.max(0, layout.indexAt(top) - overscan);
    const bottom = layout.indexAt(top + (scroller.current?.clientHeight ?? 0));
    return { first, end: Math.min(keys.length, bottom + 1 + overscan) };
  };
  // Reads the scroll position before the items change, because the browser changes it if the list becomes shorter.
  readScroll();
  layout.setItems(keys, estimate);
  const { first, end } = findShown();
  const measure = (): boolean => {
    const heights = [...(slots.current?.children ?? [])].map((slot) => slot.getBoundingClientRect().height);
    return layout.setHeights(first, heights);
  };
  useLayoutEffect(() => {
    const { current: view } = scroller;
    if (view === null) return;
    if (measure()) {
      // Remembers the position that the browser has set, because the browser scrolls a list that has become shorter.
      scrolledTo.current = view.scrollTop;
      return update(undefined);
    }
    if (Math.abs(view.scrollTop - layout.heldTop) >= 0.5) view.scrollTop = layout.heldTop;
    scrolledTo.current = view.scrollTop;
    // If the list now ends before `heldTop`, keeps the position that the browser has set.
    if (Math.abs(view.scrollTop - layout.heldTop) >= 1) {
      layout.holdAt(view.scrollTop);
      update(undefined);
    }
  });
  useViewChanges(scroller, () => {
    readScroll();
    const shown = findShown();
    if (shown.first !== first || shown.end !== end || measure()) update(undefined);
  });
  const scrollTo = (index: number): void => {
    layout.hold(index);
    update(undefined);
  };
  return { scroller, slots, first, end, top: layout.topOf(first), height: layout.height, scrollTo };
}

/**
 * Calls `read` when an element is first shown, when it is scrolled, and one frame after its size or its content's size
 * changes.
 */
export function useViewChanges(scroller: RefObject<HTMLElement | null>, read: (element: HTMLElement) => void): void {
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    const { current: element } = scroller;
    if (element === null) return undefined;
    let frame = 0;
    const onScroll = (): void => latest.current(element);
    // Waits for the next frame, because a size changed in this one would cause the browser error "ResizeObserver loop".
    const observer = new ResizeObserver(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(onScroll);
    });
    for (const observed of [element, element.querySelector(".slots")]) if (observed !== null) observer.observe(observed);
    element.addEventListener("scroll", onScroll, { passive: true });
    onScroll();
    return () => {
      element.removeEventListener("scroll", onScroll);
      observer.disconnect();
      cancelAnimationFrame(frame);
    };
  }, []);
}

interface HeldItem {
  readonly index: number;
  /** The distance from the top of the item to the top of the visible part. */
  readonly below: number;
}

/**
 * The positions of the items in a list. Items that have not been shown yet have estimated heights. One item is held: it does not move on
 * the screen while other items are measured, added or removed.
 */
export class ListLayout {
  readonly #heights = new Map<string, number>();
  #keys: readonly string[] = [];
  #estimate: (index: number) => number = () => 0;
  /** The position of each item's top. The last number is the height of the whole list. */
  #tops: readonly number[] = [0];
  #held: HeldItem = { index: 0, below: 0 };

  /** Sets the items. If the held item is gone, holds the nearest item above. */
  setItems(keys: readonly string[], estimate: (index: number) => number): void {
    if (keys === this.#keys) return;
    const places = new Map(keys.map((key, index) => [key, index]));
    const { index, below } = this.#held;
    const last = this.#keys.slice(0, index + 1).findLastIndex((key) => places.has(key));
    this.#held = { index: places.get(this.#keys[last] ?? "") ?? 0, below: last === index ? below : 0 };
    [this.#keys, this.#estimate] = [keys, estimate];
    this.#place();
  }

  #place(): void {
    let top = 0;
    const tops = this.#keys.map((key, index) => {
      const start = top;
      top += this.#heights.get(key) ?? this.#estimate(index);
      return start;
    });
    this.#tops = [...tops, top];
  }

  /** Sets the heights of items, starting with index `from`. Returns true if a height has changed. */
  setHeights(from: number, heights: readonly number[]): boolean {
    let isNew = false;
    heights.forEach((height, at) => {
      const key = this.#keys[from + at];
      if (key === undefined || this.#heights.get(key) === height) return;
      this.#heights.set(key, height);
      isNew = true;
    });
    if (isNew) this.#place();
    return isNew;
  }

  get height(): number {
    return this.topOf(this.#keys.length);
  }

  topOf(index: number): number {
    return this.#tops[index] ?? 0;
  }

  indexAt(position: number): number {
    let [low, high] = [0, Math.max(0, this.#keys.length - 1)];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.topOf(middle) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Holds the item at a position, such as the top of the visible part. */
  holdAt(position: number): void {
    const index = this.indexAt(position);
    this.#held = { index, below: position - this.topOf(index) };
  }

  /** Holds an item, so that its top stays at the top of the visible part. */
  hold(index: number): void {
    this.#held = { index, below: 0 };
  }

  /** The scroll position that keeps the held item at the same place on the screen. */
  get heldTop(): number {
    return this.topOf(this.#held.index) + this.#held.below;
  }
}
