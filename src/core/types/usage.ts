/** Tokens of one model iteration, or the sum of several. */
export interface Usage {
  /** All input tokens, cached ones included. */
  readonly inputTokens: number;
  /** All output tokens, reasoning included. */
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** The part of `inputTokens` that was read from a cache. */
  readonly cachedInputTokens?: number | undefined;
  /** The part of `inputTokens` that was written to a cache. */
  readonly cacheWriteTokens?: number | undefined;
  /** The part of `outputTokens` that was spent on reasoning. */
  readonly reasoningTokens?: number | undefined;
}

/** The price of one iteration in USD, or undefined where it is not known. */
export type Pricing = (usage: Usage, model: { readonly provider: string; readonly model: string }) => number | undefined;
