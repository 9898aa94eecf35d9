/** The length of a slice, in milliseconds. Between two slices, the page can respond to the reader. */
const sliceMs = 12;

/** Calls `steps.next` in slices until they are done, and `onSlice` after each slice. Returns a function that stops the work. */
export function workInSlices(steps: Iterator<unknown>, waitMs: number, onSlice: (isDone: boolean) => void): () => void {
  const work = (): void => {
    const end = performance.now() + sliceMs;
    let isDone = false;
    while (!isDone && performance.now() < end) isDone = steps.next().done === true;
    if (!isDone) timer = setTimeout(work);
    onSlice(isDone);
  };
  let timer = setTimeout(work, waitMs);
  return () => clearTimeout(timer);
}
