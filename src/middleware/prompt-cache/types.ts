// Types for prompt cache measurements, which a run reports in events and in its result.

import type { LoopResult, Middleware, ModelCall, ModelRequest, StreamResult, Usage } from "../../core/index.ts";
import type { AttemptSpending } from "../../core/types/provider.ts";

/** How a run's requests used the prompt cache. Sizes are UTF-8 bytes of the tools, the system text and the messages as JSON. */
export type PromptCacheUse = NonNullable<LoopResult["cache"]>;

/** Digests of a run's final request. The next run compares its first request with them. JSON data of at most a few KB. */
export type LastRequest = NonNullable<PromptCacheUse["last"]>;

/** A request that begins differently from the previous request to the same model. */
export type PromptCacheBreak = PromptCacheUse["breaks"][number];

/** A reason why a request begins differently from the previous one. */
export type CacheBreakCause = PromptCacheBreak["cause"];

/** One stream's requests, and the money that the prompt cache saved. */
export type StreamCache = NonNullable<StreamResult["cache"]>;

/** The beginning of one request, as JSON data. */
export type RequestPrefix = StreamCache["requests"][number];

/** The digest of one part of a request. */
export type PartDigest = LastRequest["tools"][number];

/**
 * Measures how much of each request repeats the beginning of the previous one. Created by `watchPromptCache` from
 * `turnwright/middleware`.
 */
export interface PromptCacheWatch extends Middleware {
  /**
   * Returns middleware that compares a run's first request with `earlier`, the final request of an earlier run in the same
   * conversation. Pass `cache.last` from that run's result. Returns this middleware unchanged if `earlier` is undefined.
   */
  startWith(earlier: LastRequest | undefined): PromptCacheWatch;
}

/** Watches the requests in one stream. */
export interface StreamWatch {
  /** Pass this function to the model call as `sending`. It is called with each request body in the stream. */
  readonly sending: NonNullable<ModelCall["sending"]>;
  /** Called after the stream has ended. Returns the measurements of its requests, and makes `sending` ignore all later requests. */
  read(spendings: readonly AttemptSpending[], priceOf: (usage: Usage, by: AttemptSpending) => unknown): StreamCache | undefined;
}

/** Watches the prompt cache of one run. Created by `watchPromptCache`. */
export interface CacheWatcher {
  /** Starts watching a stream's requests. */
  watch(request: ModelRequest): StreamWatch;
  /** Takes the recorded requests of a replayed stream, so that the next request is compared with these records. */
  replay(cache: StreamCache): void;
  /** Returns the totals for the run's result. */
  sum(results: readonly StreamResult[]): PromptCacheUse;
}
