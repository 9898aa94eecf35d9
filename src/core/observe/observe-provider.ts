import type { RunObserver, StreamObserver } from "./run-observer.ts";
import type { ModelChunk, Provider } from "../types/provider.ts";
import { isProvider } from "../errors/provider-error.ts";
import { isRecord } from "../utils/guards.ts";

export function observeProvider(provider: Provider, current: () => RunObserver | undefined): Provider {
  if (!isProvider(provider)) return provider;
  return {
    // Uses getters, because the caller may change the fields of the original provider later.
    get id() {
      return provider.id;
    },
    get model() {
      return provider.model;
    },
    get family() {
      return provider.family;
    },
    get compacts() {
      return provider.compacts;
    },
    get searchesTools() {
      return provider.searchesTools;
    },
    get structuresOutput() {
      return provider.structuresOutput;
    },
    stream(request, call) {
      // A request for a summary is not part of an iteration, and observers get only the streams of iterations.
      if (request.purpose !== undefined) return provider.stream(request, call);
      const observer = current()?.startStream?.(request, provider);
      // Applies the guardrails of the run here, so that the observer gets no chunks that the guardrails refuse.
      const { guard = unguarded } = call;
      const open = (): AsyncIterable<ModelChunk> => guard(provider.stream(request, call));
      return observer === undefined ? open() : observeStream(open, observer);
    },
  };
}

function unguarded(stream: AsyncIterable<ModelChunk>): AsyncIterable<ModelChunk> {
  return stream;
}

/** Observes the stream that `open` returns. Any other value is returned unchanged, because the loop reports the mistake. */
function observeStream(open: () => AsyncIterable<ModelChunk>, observer: StreamObserver): AsyncIterable<ModelChunk> {
  const stream = observer.run(open);
  if (typeof (stream as Partial<typeof stream> | null)?.[Symbol.asyncIterator] !== "function") return stream;
  return {
    [Symbol.asyncIterator]() {
      const iterator = observer.run(() => stream[Symbol.asyncIterator]());
      return typeof (iterator as Partial<typeof iterator> | null)?.next === "function"
        ? observeIterator(iterator, observer)
        : iterator;
    },
  };
}

function observeIterator(iterator: AsyncIterator<ModelChunk>, observer: StreamObserver): AsyncIterator<ModelChunk> {
  const pull = (): Promise<IteratorResult<ModelChunk>> => iterator.next();
  let looks = observer.onChunk !== undefined;
  const look = (result: IteratorResult<ModelChunk>): void => {
    if (!looks || result?.done === true || !isRecord(result?.value)) return;
    try {
      looks = observer.onChunk?.(result.value) === true;
    } catch {
      looks = false;
    }
  };
  return {
    next() {
      const result = observer.run(pull);
      // Returns the original promise, so that the loop is not delayed. Observes only native promises, because a second call of
      // `then` on another thenable might request a second chunk.
      if (looks && result instanceof Promise) result.then(look, () => {});
      return result;
    },
    ...(typeof iterator.return === "function" && {
      return: (value?: unknown) => observer.run(() => iterator.return?.(value) as Promise<IteratorResult<ModelChunk>>),
    }),
  };
}
