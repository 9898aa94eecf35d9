// The stream of a model as something to iterate over.

import { isRecord } from "../core/provider-kit.ts";

/** What is used of a ReadableStream. */
interface PartStream {
  getReader(): PartReader;
}

interface PartReader {
  read(): Promise<IteratorResult<unknown>>;
  cancel(reason?: unknown): Promise<void>;
}

/**
 * Makes a stream iterable, and cancels it when the signal fires, also one that came too late: a model may be deaf to its signal. The
 * iterator of its own can do nothing while it waits for a part, and not every browser has one. Anything else stays what it is.
 */
export function toIterable(stream: unknown, signal: AbortSignal): unknown {
  if (!isPartStream(stream)) return stream;
  const reader = stream.getReader();
  const cancel = (): void => void reader.cancel(signal.reason).then(undefined, () => {});
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel();
  return {
    [Symbol.asyncIterator]: (): AsyncIterator<unknown> => ({
      next: () => reader.read(),
      async return() {
        await reader.cancel();
        return { done: true, value: undefined };
      },
    }),
  };
}

function isPartStream(value: unknown): value is PartStream {
  return isRecord(value) && typeof value.getReader === "function";
}
