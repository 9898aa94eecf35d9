// Types for the prompt cache of model services. A service reads the part of a request from its cache that equals the beginning of
// an earlier request.

/** Watches how much of each request begins like the previous one. Created by `watchPromptCache` from `turnwright/prompt-cache`. */
export interface PromptCacheWatch {
  readonly kind: "prompt-cache";
  /**
   * Returns a policy that compares the first request of a run with `earlier`, the last request of an earlier run of the same
   * conversation: `cache.last` of its result. `undefined` returns the policy unchanged.
   */
  startWith(earlier: LastRequest | undefined): PromptCacheWatch;
}

/** A reason why a request does not begin like an earlier one. */
export interface CacheBreakCause {
  readonly kind:
    | "provider-changed"
    | "model-changed"
    | "tool-removed"
    | "tool-added"
    | "tool-changed"
    | "tool-keys-reordered"
    | "tools-reordered"
    | "system-changed"
    | "messages-masked"
    | "messages-compacted"
    | "messages-edited"
    | "messages-removed"
    | "messages-inserted"
    | "message-keys-reordered"
    /** The content of a message is the same, but the parts in the provider's own format differ. */
    | "provider-metadata-changed"
    | "tool-choice-changed"
    | "setting-changed"
    /** The request begins like the earlier one, but the service read nothing from its cache. */
    | "cache-unread";
  /** The name of the tool or the setting. */
  readonly name?: string | undefined;
  /** The number of messages of the previous request, or of inserted messages. */
  readonly count?: number | undefined;
  /** The old and the new provider or model. */
  readonly values?: readonly [before: string, after: string] | undefined;
}

/** A request that does not begin like the previous request to the same model. */
export interface PromptCacheBreak {
  /** The number of the iteration, counted from 0. */
  readonly iteration: number;
  readonly provider: string;
  readonly model: string;
  /** The first change, in the order in which services read a request: tools, system text, messages. */
  readonly cause: CacheBreakCause;
  /** True if a policy of the run made the change on purpose: the masking or the compaction of messages. */
  readonly isIntended: boolean;
  /** The bytes of the previous request with which this request also begins. */
  readonly keptBytes: number;
  /** The bytes of the previous request after the first change. */
  readonly lostBytes: number;
}

/** One part of a request as a digest, so that a resumed run can compare its first request with the last recorded one. */
export type PartDigest = readonly [digest: string, bytes: number, name?: string];

/** How one request began, as plain data. Sizes are UTF-8 bytes of the tools, the system text and the messages as JSON. */
export interface RequestPrefix {
  readonly provider: string;
  readonly model: string;
  /** The size of this request. */
  readonly bytes: number;
  /** The size of the previous request to this model. 0 for the first request of a run, unless the policy has an earlier one. */
  readonly prefixBytes: number;
  /** The part of `prefixBytes` before the first change that a policy made on purpose. */
  readonly possibleBytes: number;
  /** The part of `prefixBytes` with which this request also begins. */
  readonly sharedBytes: number;
  readonly break?: PromptCacheBreak | undefined;
  /** The tools, the system text and the settings. Each is absent if equal to that of the previous request to this model. */
  readonly tools?: readonly PartDigest[] | undefined;
  readonly system?: readonly PartDigest[] | undefined;
  readonly settings?: { readonly [name: string]: string } | undefined;
  readonly messageCount: number;
  /** The messages that are new or differ from the previous request to this model, with their indexes. */
  readonly messages: readonly (readonly [index: number, digest: string, bytes: number])[];
}

/** The last request of a run as digests, so that the next run can compare its first request. Plain data, of at most a few KB. */
export interface LastRequest {
  readonly provider: string;
  readonly model: string;
  /** The size of the request. */
  readonly bytes: number;
  readonly tools: readonly PartDigest[];
  readonly system: readonly PartDigest[];
  readonly settings: { readonly [name: string]: string };
  /** The messages. Old messages are in groups, which are compared as a whole. `count` is the number of messages. */
  readonly messages: readonly (readonly [count: number, digest: string, bytes: number])[];
}

/** The requests of one stream, and the money that the prompt cache saved. */
export interface StreamCache {
  readonly requests: readonly RequestPrefix[];
  /** The price of the usage without a cache, minus the cost, in USD. Negative if writing costs more. Undefined if unknown. */
  readonly savedUSD?: number | undefined;
}

/** How the requests of a run used the prompt cache. Sizes are UTF-8 bytes of the tools, the system text and the messages as JSON. */
export interface PromptCacheUse {
  /** The number of requests that providers reported. */
  readonly requests: number;
  /** The sum of the sizes of the previous requests: the bytes that could be shared if nothing ever changed. */
  readonly prefixBytes: number;
  /** The part of `prefixBytes` before the first change that a policy made on purpose, such as masking. */
  readonly possibleBytes: number;
  /** The part of `prefixBytes` with which the next request also begins. */
  readonly sharedBytes: number;
  /** `sharedBytes / possibleBytes`, from 0 to 1. It is 1 if there was nothing to share. */
  readonly share: number;
  /** The input tokens that the services read from their caches. Undefined if no service reported them. */
  readonly cachedTokens: number | undefined;
  /** The input tokens that the services wrote to their caches. Undefined if no service reported them. */
  readonly cacheWriteTokens: number | undefined;
  /** The price of the usage without a cache, minus the cost, in USD. Undefined if the usage or a price is unknown. */
  readonly savedUSD: number | undefined;
  readonly breaks: readonly PromptCacheBreak[];
  /** The last request. Pass it to `startWith` of the policy for the next run. Undefined if there was no request. */
  readonly last: LastRequest | undefined;
}
