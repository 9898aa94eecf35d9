import type { LoopEvent, LoopResult, LoopStream } from "../core/entry-kit.ts";

interface Started<Output> {
  readonly events: AsyncIterable<LoopEvent>;
  readonly result: Promise<LoopResult<Output>>;
}

/** Returns a stream whose run begins after some asynchronous work. */
export function startStream<Output>(begin: () => Promise<Started<Output>>): LoopStream<Output> {
  const started = begin();
  const result = started.then((run) => run.result);
  // Prevents an unhandled rejection for callers that only read events. A caller that awaits `result` still gets the error.
  result.catch(() => {});
  const iterator = started.then(({ events }) => events[Symbol.asyncIterator]());
  iterator.catch(() => {});
  const own: AsyncIterator<LoopEvent, undefined> = {
    next: async () => (await iterator).next(),
    return: async () => {
      await (await iterator).return?.();
      return { done: true, value: undefined };
    },
  };
  return { result, [Symbol.asyncIterator]: () => own };
}
