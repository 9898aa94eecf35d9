// Types for the prompt cache of model services. If a request begins like an earlier one, the service reads the shared part from its cache.

/** A reason why a request does not begin like the previous request. */
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
    /** The content of a message is the same, but its parts in the provider's own format differ. */
    | "provider-metadata-changed"
    | "tool-choice-changed"
    | "setting-changed"
    /** The request begins like the previous request, but the service read nothing from its cache. */
    | "cache-unread";
  /** The name of the tool or the setting. */
  readonly name?: string | undefined;
  /**
   * The number of inserted messages for "messages-inserted". For some other kinds: how many messages from the previous request
   * the change affects.
   */
  readonly count?: number | undefined;
  /** The provider or model before and after the change. */
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
  /** True if the run's middleware made the change on purpose: by masking or compacting messages. */
  readonly isIntended: boolean;
  /** The length of the beginning that this request and the previous request have in common, in bytes. */
  readonly keptBytes: number;
  /** The number of bytes in the previous request after the first change. */
  readonly lostBytes: number;
}

/** The digest of one part of a request. A resumed run compares the parts of its first request with the recorded digests. */
export type PartDigest = readonly [digest: string, bytes: number, name?: string];

/** How one request began, as JSON data. Sizes are UTF-8 bytes of the tools, the system text and the messages as JSON. */
export interface RequestPrefix {
  readonly provider: string;
  readonly model: string;
  /** The size of this request. */
  readonly bytes: number;
  /**
   * The size of the previous request to this model, or 0 for the first request of a run. With `startWith`, the first request is compared
   * with the earlier run's last request.
   */
  readonly prefixBytes: number;
  /** The part of `prefixBytes` before the first change that middleware made on purpose. */
  readonly possibleBytes: number;
  /** The part of `prefixBytes` that this request also begins with. */
  readonly sharedBytes: number;
  readonly break?: PromptCacheBreak | undefined;
  /**
   * The tools, the system text and the settings. Each of these is absent if the previous request to this model had an equal
   * value.
   */
  readonly tools?: readonly PartDigest[] | undefined;
  readonly system?: readonly PartDigest[] | undefined;
  readonly settings?: { readonly [name: string]: string } | undefined;
  readonly messageCount: number;
  /** The messages that are new or differ from the previous request to this model, with their indexes. */
  readonly messages: readonly (readonly [index: number, digest: string, bytes: number])[];
}

/** Digests of a run's final request. The next run compares its first request with them. JSON data of at most a few KB. */
export interface LastRequest {
  readonly provider: string;
  readonly model: string;
  /** The size of the request. */
  readonly bytes: number;
  readonly tools: readonly PartDigest[];
  readonly system: readonly PartDigest[];
  readonly settings: { readonly [name: string]: string };
  /**
   * The digests of the messages. Older messages share one digest per group, and a group is compared as a whole. `count` is the
   * number of messages that share the digest.
   */
  readonly messages: readonly (readonly [count: number, digest: string, bytes: number])[];
}

/** The requests in one stream, and the money that the prompt cache saved. */
export interface StreamCache {
  readonly requests: readonly RequestPrefix[];
  /**
   * The price of the usage without a cache, minus the cost, in USD. Negative if writing to the cache cost more than reading from
   * it saved. Undefined if unknown.
   */
  readonly savedUSD?: number | undefined;
}

/** How a run's requests used the prompt cache. Sizes are UTF-8 bytes of the tools, the system text and the messages as JSON. */
export interface PromptCacheUse {
  /** The number of requests whose usage a provider reported. */
  readonly requests: number;
  /** The sum of `prefixBytes` for all requests: the bytes that could be shared if nothing ever changed. */
  readonly prefixBytes: number;
  /** The part of `prefixBytes` before the first change that middleware made on purpose, such as masking. */
  readonly possibleBytes: number;
  /** The sum of all requests' `sharedBytes`: the part of `prefixBytes` that did not change. */
  readonly sharedBytes: number;
  /** `sharedBytes / possibleBytes`, from 0 to 1. 1 if `possibleBytes` is 0. */
  readonly share: number;
  /** The input tokens that the services read from their caches. Undefined if no service reported them. */
  readonly cachedTokens: number | undefined;
  /** The input tokens that the services wrote to their caches. Undefined if no service reported them. */
  readonly cacheWriteTokens: number | undefined;
  /** The price of the usage without a cache, minus the cost, in USD. Undefined if the usage or a price is unknown. */
  readonly savedUSD: number | undefined;
  readonly breaks: readonly PromptCacheBreak[];
  /** The run's final request. Pass it as `startWith` to `watchPromptCache` in the next run. Undefined if there was no request. */
  readonly last: LastRequest | undefined;
}
