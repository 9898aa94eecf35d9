import { addCost } from "../../shared/count-usage.ts";
import { textOf } from "../../core/kit.ts";
import type { AttemptSpending } from "../../core/types/provider.ts";
import type {
  CacheBreakCause,
  CacheWatcher,
  LastRequest,
  PromptCacheUse,
  PromptCacheWatch,
  RequestPrefix,
  StreamCache,
  StreamWatch,
} from "./types.ts";
import type { ModelCall, ModelRequest, StreamResult, Usage } from "../../core/index.ts";
import { watchRequests } from "./middleware.ts";
import { type Comparison, comparePrefixes } from "./compare-prefixes.ts";
import {
  checkLastRequest,
  fromDigests,
  fromLastRequest,
  joinMessages,
  type Prefix,
  toDigests,
  toLastRequest,
  toPrefix,
} from "./prefix.ts";
import { readBody } from "./read-body.ts";

/**
 * Watches the prompt cache: measures how much of each request repeats the beginning of the previous request to the same model. A
 * service charges only a fraction of the price for the repeated beginning. Each request that begins differently emits a
 * `cache-break` event with the cause and the bytes that were lost. `result.cache` contains the totals.
 *
 * The middleware compares the bodies that adapters hand to their SDKs. A custom provider must call `call.sending`. Otherwise, its requests
 * are not counted. The measurements are recorded in the journal, so a replayed run has the same events and totals. The first request of a
 * resumed run is compared with the newest recorded request. Any number of runs can share the returned object.
 *
 * The first request of a run is not compared with anything, unless `startWith(result.cache?.last)` passes the final request of
 * an earlier run. `createConversation` calls `startWith` automatically.
 *
 * @example
 * const result = await runToolLoop({ provider, tools, messages, events, middleware: [watchPromptCache()] });
 * result.cache?.share; // 0.99
 * result.cache?.breaks[0]?.cause; // { kind: "tool-added", name: "search" }
 */
export function watchPromptCache(): PromptCacheWatch {
  return createWatch(undefined);
}

function createWatch(earlier: LastRequest | undefined): PromptCacheWatch {
  return {
    ...watchRequests(() => new RunWatcher(earlier)),
    startWith: (found) => createWatch(found === undefined ? earlier : checkLastRequest(found)),
  };
}

type Sender = Pick<RequestPrefix, "provider" | "model">;

interface Sent extends Sender {
  readonly prefix: Prefix;
  /** The stored form of the request, if an earlier run sent it. The older messages in `prefix` are then grouped. */
  readonly earlier?: LastRequest | undefined;
}

export class RunWatcher implements CacheWatcher {
  /** The newest request to each model. */
  readonly #sent = new Map<string, Sent>();
  #last: Sent | undefined;

  constructor(earlier: LastRequest | undefined) {
    if (earlier === undefined) return;
    const { provider, model } = earlier;
    this.#note({ provider, model, prefix: fromLastRequest(earlier), earlier });
  }

  watch(request: ModelRequest): StreamWatch {
    const requests: RequestPrefix[] = [];
    let isOver = false;
    const sending: ModelCall["sending"] = (body, { id, model }) => {
      if (isOver) return;
      const measured = this.#measure(body, request, { provider: textOf(id), model: textOf(model) });
      if (measured !== undefined) requests.push(measured);
    };
    return {
      sending,
      read: (spendings, priceOf) => {
        isOver = true;
        return requests.length === 0 ? undefined : { requests, savedUSD: sumSavings(spendings, priceOf) };
      },
    };
  }

  replay({ requests }: StreamCache): void {
    for (const record of requests) this.#recall(record);
  }

  /**
   * Uses a recorded request as the previous one. If the record has been edited and is invalid, the next request is not compared with
   * anything.
   */
  #recall(record: RequestPrefix): void {
    const { provider, model } = record;
    try {
      this.#note({ provider, model, prefix: fromDigests(record, ownPrefix(this.#sent.get(keyOf(record)))) });
    } catch {
      this.#sent.delete(keyOf(record));
    }
  }

  sum(results: readonly StreamResult[]): PromptCacheUse {
    const last = this.#last;
    return { ...sumUses(results), last: last && (last.earlier ?? toLastRequest(last, last.prefix)) };
  }

  /** Measures a request body. Returns undefined for a body that cannot be measured. The SDK will report what is wrong with it. */
  #measure(body: unknown, request: ModelRequest, sender: Sender): RequestPrefix | undefined {
    try {
      const parts = readBody(body);
      if (parts === undefined) return undefined;
      const before = this.#sent.get(keyOf(sender));
      const prefix = toPrefix(parts, request, ownPrefix(before));
      const compared =
        before === undefined ? this.#switch(sender) : comparePrefixes(before.prefix, alike(prefix, before), request);
      const prefixBytes = (before ?? this.#last)?.prefix.bytes ?? 0;
      this.#note({ ...sender, prefix });
      return {
        ...sender,
        bytes: prefix.bytes,
        prefixBytes,
        possibleBytes: compared.possibleBytes,
        sharedBytes: compared.sharedBytes,
        break: toBreak(compared, { ...sender, iteration: request.iteration, prefixBytes }),
        ...toDigests(prefix, ownPrefix(before)),
      };
    } catch {
      return undefined;
    }
  }

  /** Returns the comparison for the first request to a model, which cannot use the cache of the previous request's model. */
  #switch({ provider, model }: Sender): Comparison {
    const last = this.#last;
    const nothing = { sharedBytes: 0, possibleBytes: 0, cause: undefined, isIntended: false };
    if (last === undefined) return nothing;
    const cause: CacheBreakCause =
      last.provider === provider
        ? { kind: "model-changed", values: [last.model, model] }
        : { kind: "provider-changed", values: [last.provider, provider] };
    return { ...nothing, possibleBytes: last.prefix.bytes, cause };
  }

  #note(sent: Sent): void {
    this.#sent.set(keyOf(sent), sent);
    this.#last = sent;
  }
}

/**
 * Returns the parts of a request that this run's records may refer to. Undefined if an earlier run sent the request, because
 * this run's journal does not contain its parts.
 */
function ownPrefix(sent: Sent | undefined): Prefix | undefined {
  return sent?.earlier === undefined ? sent?.prefix : undefined;
}

/** Groups messages as in the earlier run's request, so that the two requests can be compared. */
function alike(prefix: Prefix, { earlier }: Sent): Prefix {
  return earlier === undefined
    ? prefix
    : joinMessages(
        prefix,
        earlier.messages.map(([count]) => count),
      );
}

function keyOf({ provider, model }: Sender): string {
  return JSON.stringify([provider, model]);
}

type Place = Sender & { readonly iteration: number; readonly prefixBytes: number };

function toBreak({ cause, isIntended, sharedBytes }: Comparison, { prefixBytes, ...place }: Place): RequestPrefix["break"] {
  return cause && { ...place, cause, isIntended, keptBytes: sharedBytes, lostBytes: prefixBytes - sharedBytes };
}

/**
 * Returns the savings: the price without a cache minus the actual cost. Undefined if a price is unknown or a service did not report its
 * cache use.
 */
function sumSavings(
  spendings: readonly AttemptSpending[],
  priceOf: (usage: Usage, by: AttemptSpending) => unknown,
): number | undefined {
  let saved = 0;
  for (const spending of spendings) {
    const { usage } = spending;
    if (usage?.cachedInputTokens === undefined && usage?.cacheWriteTokens === undefined) return undefined;
    const { cachedInputTokens: _read, cacheWriteTokens: _written, ...uncached } = usage;
    const [price, cost] = [priceOf(uncached, spending), priceOf(usage, spending)];
    if (typeof price !== "number" || typeof cost !== "number") return undefined;
    saved += price - cost;
  }
  return saved;
}

function sumUses(results: readonly StreamResult[]): Omit<PromptCacheUse, "last"> {
  const watched = results.filter(({ cache }) => cache !== undefined);
  const requests = watched.flatMap(({ cache }) => cache?.requests ?? []);
  const sum = (field: "prefixBytes" | "possibleBytes" | "sharedBytes"): number =>
    requests.reduce((total, request) => total + request[field], 0);
  const possibleBytes = sum("possibleBytes");
  // The ratio is at most 1, because `sharedBytes` ends at the first change, and `possibleBytes` at the first expected change, which is
  // never earlier.
  const sharedBytes = sum("sharedBytes");
  return {
    requests: requests.length,
    prefixBytes: sum("prefixBytes"),
    possibleBytes,
    sharedBytes,
    share: possibleBytes === 0 ? 1 : sharedBytes / possibleBytes,
    cachedTokens: sumTokens(watched, "cachedInputTokens"),
    cacheWriteTokens: sumTokens(watched, "cacheWriteTokens"),
    savedUSD: watched.map(({ cache }) => cache?.savedUSD).reduce(addCost, watched.length === 0 ? undefined : 0),
    breaks: requests.flatMap(({ break: found }) => (found === undefined ? [] : [found])),
  };
}

function sumTokens(results: readonly StreamResult[], field: "cachedInputTokens" | "cacheWriteTokens"): number | undefined {
  const counts = results.flatMap(({ usage }) => usage?.[field] ?? []);
  return counts.length === 0 ? undefined : counts.reduce((total, count) => total + count, 0);
}
