// Prices out of the catalogue of @pydantic/genai-prices.

import type { Pricing } from "../core/provider-kit.ts";
import { priceOf, toCatalogueId } from "./catalogue.ts";
import { checkPriceOptions, type GenaiPricesOptions } from "./price-options.ts";

/**
 * Makes a `pricing` for runs out of the catalogue that `@pydantic/genai-prices` brings along: list prices of many providers' models,
 * with cache reads and writes, tiers of long prompts, and prices that change with the date. Nothing is fetched, unless you call
 * `updatePrices` of that package.
 *
 * A model that the catalogue does not have costs `undefined`, never 0; so does one without a price for tokens that were used. A
 * provider is looked up by its exact id, so that a server that only speaks another one's wire is not priced like that one: say
 * `provider` where it is to be. A part that is larger than its whole, such as more cached tokens than input, is priced beside it.
 * Counts that are no counts throw; within a run listeners hear of that as `listener-error`, and the cost is unknown.
 *
 * Throws LoopError "invalid-option" or "unknown-option".
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
