import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** Calls `read` when an element was shown, when it is scrolled, and in the frame after it or its content has changed its size. */
export function useViewChanges(scroller: RefObject<HTMLElement | null>, read: (element: HTMLElement) => void): void {
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    const { current: element } = scroller;
    if (element === null) return undefined;
    let frame = 0;
    const onScroll = (): void => latest.current(element);
    // An observer that changes what it observes within the same frame reports an error.
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
