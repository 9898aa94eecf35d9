// Calculates costs with the price catalogue in @pydantic/genai-prices.

import { checkFields, type Checks, type Pricing, reconcileUsage, type Usage } from "../core/entry-kit.ts";
import { calcPrice } from "@pydantic/genai-prices";
import { checkProvider, modelCheck, providerCheck, toCatalogueId } from "./catalogue.ts";

/** The options of `genaiPrices`. */
export interface GenaiPricesOptions {
  /**
   * The provider whose prices are used for all iterations, under its `gen_ai.provider.name` or its id in the catalogue. Useful
   * for proxies. Default: the provider of each iteration.
   */
  readonly provider?: string | undefined;
  /**
   * The model whose prices are used for all iterations. Useful for deployments with custom names. Default: the model of each
   * iteration.
   */
  readonly model?: string | undefined;
  /** The date for which prices are looked up. Default: the time of each iteration. */
  readonly date?: Date | undefined;
}

const checks: Checks<GenaiPricesOptions> = {
  provider: providerCheck,
  model: modelCheck,
  date: ["a valid Date", (value) => value instanceof Date && !Number.isNaN(value.getTime())],
};

function checkPriceOptions(options: GenaiPricesOptions): GenaiPricesOptions {
  checkFields("options", options, checks);
  const { provider, model, date } = options;
  checkProvider(provider);
  // Copies the date, so that later changes to the caller's Date object have no effect.
  return { provider, model, date: date === undefined ? undefined : new Date(date) };
}

interface PriceQuestion {
  readonly providerId: string;
  readonly model: string;
  readonly date: Date;
}

/**
 * Returns the cost of one iteration in USD. Returns undefined if the catalogue lacks the provider, the model, or the price of
 * tokens that were used.
 */
function priceOf(usage: Usage, { providerId, model, date }: PriceQuestion): number | undefined {
  const found = calcPrice(toCounts(usage), model, { providerId, timestamp: date });
  if (found === null || found.provider.id !== providerId) return undefined;
  const { input_mtok: input, output_mtok: output } = found.model_price;
  // `calcPrice` treats a missing price as 0, so missing prices are detected here.
  if ((usage.inputTokens > 0 && input === undefined) || (usage.outputTokens > 0 && output === undefined)) return undefined;
  return found.total_price;
}

/**
 * Converts token counts to the catalogue's format. Both formats include cached tokens in the input, and reasoning tokens in the
 * output. Counts are reconciled first, because `calcPrice` throws if a part is larger than its total, such as cached input
 * larger than input.
 */
function toCounts(said: Usage): Parameters<typeof calcPrice>[0] {
  const usage = reconcileUsage(said);
  return {
    input_tokens: usage.inputTokens,
    cache_read_tokens: usage.cachedInputTokens ?? 0,
    cache_write_tokens: usage.cacheWriteTokens ?? 0,
    output_tokens: usage.outputTokens,
    output_reasoning_tokens: usage.reasoningTokens ?? 0,
  };
}

/**
 * Makes the option `pricing` from the catalogue in `@pydantic/genai-prices`. The catalogue has list prices for models of many
 * providers. It includes prices for cache reads and writes, tiers for long prompts, and prices that change with the date. No
 * prices are fetched unless you call `updatePrices` from that package.
 *
 * The cost is `undefined`, never 0, if the model is not in the catalogue or has no price for tokens that were used. A provider
 * is looked up by its exact id. A server with a compatible API is therefore not priced like the original service, unless you
 * set `provider`. A part that is larger than its total, such as more cached tokens than input tokens, is added to the total.
 * The returned function throws for invalid counts. In a run, such an error is reported to listeners as a `listener-error`, and the cost
 * is unknown.
 *
 * `genaiPrices` itself throws LoopError "invalid-option" or "unknown-option".
 *
 * @example
 * const result = await runToolLoop({ provider, messages, pricing: genaiPrices() });
 * console.log(result.costUSD);
 */
export function genaiPrices(options: GenaiPricesOptions = {}): Pricing {
  const { provider, model, date } = checkPriceOptions(options);
  return (usage, used) =>
    priceOf(usage, {
      providerId: toCatalogueId(provider ?? used.provider),
      model: model ?? used.model,
      date: date ?? new Date(),
    });
}
