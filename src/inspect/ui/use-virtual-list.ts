// A list that renders only its visible rows.

import { elementScroll, observeElementOffset, observeElementRect, type VirtualItem, Virtualizer } from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";

export interface VirtualList {
  /** The element that scrolls. */
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly items: readonly VirtualItem[];
  readonly totalSize: number;
  readonly virtualizer: Virtualizer<HTMLDivElement, HTMLElement>;
}

interface ListShape {
  readonly count: number;
  /** The space above the first row. */
  readonly padding?: number;
  /** The space between a row that was scrolled to and the end of the visible part. */
  readonly scrollPadding?: number;
  readonly overscan: number;
  keyOf(index: number): string;
  estimate(index: number): number;
}

export function useVirtualList({ count, padding = 0, scrollPadding = 0, overscan, keyOf, estimate }: ListShape): VirtualList {
  const scroller = useRef<HTMLDivElement>(null);
  const [, update] = useReducer((version: number, _: undefined) => version + 1, 0);
  const options = {
    count,
    overscan,
    paddingStart: padding,
    scrollPaddingStart: padding + scrollPadding,
    scrollPaddingEnd: scrollPadding,
    getScrollElement: () => scroller.current,
    getItemKey: keyOf,
    estimateSize: estimate,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => update(undefined),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLElement>(options));
  virtualizer.setOptions(options);
  // The adapters of the library for other frameworks call these two.
  const { _didMount: didMount, _willUpdate: willUpdate } = virtualizer;
  useLayoutEffect(() => didMount(), [didMount]);
  useLayoutEffect(() => willUpdate());
  return { scroller, items: virtualizer.getVirtualItems(), totalSize: virtualizer.getTotalSize(), virtualizer };
}
