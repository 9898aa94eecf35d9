// A provider whose streams are watched: each step of one runs in a context of the observer's.

import type { LoopHooks, IterationPlan } from "../types/hooks.ts";
import type { ModelChunk, Provider } from "../types/provider.ts";
import { isProvider } from "../errors/provider-check.ts";
import { isRecord } from "../utils/is-record.ts";
import { whenReady } from "../utils/when-ready.ts";
import type { RunObserver, StreamObserver } from "./run-observer.ts";

/** Watches the streams of a provider for whoever observes the iteration that opens one. What is no provider stays as it is. */
export function observeProvider(provider: Provider, current: () => RunObserver | undefined): Provider {
  if (!isProvider(provider)) return provider;
  return {
    // As they are when they are asked for.
    get id() {
      return provider.id;
    },
    get model() {
      return provider.model;
    },
    get family() {
      return provider.family;
    },
    stream(request, call) {
      const observer = current()?.startStream?.(request, provider);
      const open = (): AsyncIterable<ModelChunk> => provider.stream(request, call);
      return observer === undefined ? open() : observeStream(open, observer);
    },
  };
}

/** Hooks whose `prepareIteration` may name another provider, which is watched as well. */
export function observeHooks(hooks: LoopHooks, current: () => RunObserver | undefined): LoopHooks {
  if (typeof hooks.prepareIteration !== "function") return hooks;
  return {
    ...hooks,
    prepareIteration(view) {
      // The iteration has begun, and another run over the same options may begin one while the hook takes its time.
      const observer = current();
      return whenReady(hooks.prepareIteration?.(view), (plan): IterationPlan | undefined | void => {
        if (!isRecord(plan) || !isProvider(plan.provider)) return plan;
        return { ...plan, provider: observeProvider(plan.provider, () => observer) };
      });
    },
  };
}

/** What is no stream is for the loop to complain of. */
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
  // Made once, because a chunk should cost no function of its own.
  const pull = (): Promise<IteratorResult<ModelChunk>> => iterator.next();
  let looks = observer.onChunk !== undefined;
  const look = (result: IteratorResult<ModelChunk>): void => {
    if (!looks || result?.done === true || !isRecord(result?.value)) return;
    try {
      looks = observer.onChunk?.(result.value) === true;
    } catch {
      // A chunk that cannot be read is for the loop to complain of.
      looks = false;
    }
  };
  return {
    next() {
      const result = observer.run(pull);
      // Looked at from beside, so that the loop gets what the provider gave, and no later. Another `then` may ask twice.
      if (looks && result instanceof Promise) result.then(look, () => {});
      return result;
    },
    ...(typeof iterator.return === "function" && {
      return: (value?: unknown) => observer.run(() => iterator.return?.(value) as Promise<IteratorResult<ModelChunk>>),
    }),
  };
}
