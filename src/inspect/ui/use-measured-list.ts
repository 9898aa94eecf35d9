// A list that renders only its visible items, whose heights are measured.

import type { RefObject } from "preact";
import { useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import { ListLayout } from "./model/list-layout.ts";
import { useViewChanges } from "./use-view-changes.ts";

export interface MeasuredList {
  /** The element that scrolls. */
  readonly scroller: RefObject<HTMLDivElement | null>;
  /** The element that contains the rendered items, and nothing else. */
  readonly slots: RefObject<HTMLDivElement | null>;
  /** The first rendered item, and the one after the last. */
  readonly first: number;
  readonly end: number;
  /** The top of the first rendered item. */
  readonly top: number;
  readonly height: number;
  /** Scrolls to the top of an item. */
  scrollTo(index: number): void;
}

/** The items that are rendered above and below the visible part. */
const overscan = 4;

/** `keys` is a new list if the items have changed. */
export function useMeasuredList(keys: readonly string[], estimate: (index: number) => number): MeasuredList {
  const scroller = useRef<HTMLDivElement>(null);
  const slots = useRef<HTMLDivElement>(null);
  const [layout] = useState(() => new ListLayout());
  const [, update] = useReducer((version: number, _: undefined) => version + 1, 0);
  const scrolledTo = useRef(0);
  /** Holds what the reader has scrolled to. A difference of less than a pixel comes from the rounding of the browser. */
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
  // The browser changes the scroll position itself if the list becomes shorter, so it is read before that.
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
      // The browser may have moved a list that became shorter.
      scrolledTo.current = view.scrollTop;
      return update(undefined);
    }
    if (Math.abs(view.scrollTop - layout.heldTop) >= 0.5) view.scrollTop = layout.heldTop;
    scrolledTo.current = view.scrollTop;
    // The end of the list may be too near.
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
