// Middleware that watches the prompt cache: reads each request's body, and records how much of it matches the previous one.

import { addUsage, noUsage } from "../../shared/count-usage.ts";
import { isRecord, wrapProvider } from "../../core/kit.ts";
import type { AttemptSpending } from "../../core/types/provider.ts";
import type { CacheWatcher, StreamCache, StreamWatch } from "./types.ts";
import {
  LoopError,
  type Middleware,
  type ModelCall,
  type ModelChunk,
  type Pricing,
  type Provider,
  type Usage,
} from "../../core/index.ts";
import { toUsage } from "../../shared/plain-error.ts";

/** The prompt cache watch for this execution's newest request. Undefined while requests are replayed. */
interface Watched {
  readonly watch: StreamWatch;
  readonly spendings: Spendings;
}

export function watchRequests(createWatcher: () => CacheWatcher): Middleware {
  return {
    name: "prompt-cache",
    begin: ({ options: { pricing } }) => {
      const watcher = createWatcher();
      let watched: Watched | undefined;
      return {
        provider: (inner) =>
          wrapProvider(inner, {
            stream: (request, call) => {
              const begun = { watch: watcher.watch(request), spendings: new Spendings(inner) };
              watched = begun;
              return begun.spendings.follow(inner.stream(request, withSending(call, begun.watch.sending)));
            },
          }),
        async request(request, next, at) {
          watched = undefined;
          const answer = await next(request);
          if (answer.skipped === true) return answer;
          const cache = await at.step<StreamCache | null>(
            "cache",
            () => watched?.watch.read(watched.spendings.list, priceBy(pricing)) ?? null,
          );
          if (cache === null) return answer;
          checkCache(cache);
          // A replayed request was not watched, so its record is passed on for the comparison with the next request.
          if (watched === undefined) watcher.replay(cache);
          for (const { break: found } of cache.requests) if (found !== undefined) at.emit("cache-break", found);
          return { ...answer, cache };
        },
        result: ({ answers }) => ({ cache: watcher.sum(answers) }),
      };
    },
  };
}

/** Checks a recorded measurement, because a saved journal may have been edited. */
function checkCache(cache: unknown): void {
  const requests = isRecord(cache) ? cache["requests"] : undefined;
  const isRequest = (one: unknown): boolean => isRecord(one) && (one["break"] === undefined || isRecord(one["break"]));
  if (Array.isArray(requests) && requests.every(isRequest)) return;
  throw new LoopError("journal-damaged", { key: "prompt-cache/cache", problem: "has invalid requests" });
}

function withSending(call: ModelCall, sending: ModelCall["sending"]): ModelCall {
  const { signal, iteration, clock, timeouts, mayAsk, guard } = call;
  return { signal, iteration, clock, timeouts, mayAsk, guard, sending, heartbeat: (state) => call.heartbeat(state) };
}

/** Returns a function that calls the caller's `pricing`. If it fails, the amount saved is unknown. */
function priceBy(pricing: Pricing | undefined): (usage: Usage, by: AttemptSpending) => unknown {
  return (usage, { provider, model }) => {
    try {
      return pricing?.(usage, { provider, model });
    } catch {
      return undefined;
    }
  };
}

/** The usage of each attempt in a stream. Omits attempts that the service rejected. */
class Spendings {
  readonly #ended: AttemptSpending[] = [];
  #sender: Pick<Provider, "id" | "model">;
  #usage: Usage | undefined;
  /** True once a chunk of the current attempt has arrived. */
  #isHeard = false;
  #isBetween = false;

  constructor(sender: Pick<Provider, "id" | "model">) {
    this.#sender = sender;
  }

  get list(): readonly AttemptSpending[] {
    return this.#isBetween && this.#usage === undefined ? this.#ended : [...this.#ended, this.#current];
  }

  get #current(): AttemptSpending {
    const { id: provider, model } = this.#sender;
    return { provider, model, usage: this.#usage };
  }

  /** Counts the usage of a stream while passing it on. Not a generator, because a generator cannot be stopped while the provider hangs. */
  follow(stream: AsyncIterable<ModelChunk>): AsyncIterable<ModelChunk> {
    return {
      [Symbol.asyncIterator]: () => {
        const chunks = stream[Symbol.asyncIterator]();
        const end = chunks.return?.bind(chunks);
        return {
          next: async () => {
            const read = await chunks.next();
            if (read.done !== true) this.#take(read.value);
            return read;
          },
          ...(end !== undefined && { return: end }),
        };
      },
    };
  }

  #take(chunk: ModelChunk): void {
    const { type } = chunk;
    if (type === "usage")
      this.#usage = chunk.mode === "delta" ? addUsage(this.#usage ?? noUsage, toUsage(chunk.usage)) : toUsage(chunk.usage);
    else if (type === "attempt-start") {
      const { provider: id, model } = chunk;
      const isAnother = id !== this.#sender.id || model !== this.#sender.model;
      if (isAnother && this.#usage !== undefined) this.#end();
      this.#isBetween = false;
      this.#sender = { id, model };
    } else if (type === "attempt-discarded") {
      if (this.#usage !== undefined || (!this.#isBetween && this.#isHeard)) this.#end();
      this.#isBetween = true;
      this.#isHeard = false;
    } else this.#isHeard = true;
  }

  #end(): void {
    this.#ended.push(this.#current);
    this.#usage = undefined;
  }
}
