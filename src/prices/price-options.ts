// The options of `genaiPrices`, checked before anything is priced.

import { type Checks, checkFields, invalidOption, isFilled } from "../core/provider-kit.ts";
import { hasProvider, toCatalogueId } from "./catalogue.ts";

/** Whose prices count, and which. */
export interface GenaiPricesOptions {
  /**
   * The provider whose prices count, whatever the provider of an iteration calls itself: a `gen_ai.provider.name`, or a provider's id in the
   * catalogue. For proxies and the like. Default: the iteration's own.
   */
  readonly provider?: string | undefined;
  /** The model whose prices count, whatever an iteration calls its own. For deployments with a name of their own. Default: the iteration's own. */
  readonly model?: string | undefined;
  /** The day whose prices count. Default: the time of the iteration. */
  readonly date?: Date | undefined;
}

const checks: Checks<GenaiPricesOptions> = {
  provider: ["a provider that the catalogue of @pydantic/genai-prices has", isFilled],
  model: ["the name of a model", isFilled],
  date: ["a valid Date", (value) => value instanceof Date && !Number.isNaN(value.getTime())],
};

/** Throws LoopError `invalid-option` or `unknown-option`. A provider that is misspelt would have no price at all. */
export function checkPriceOptions(options: GenaiPricesOptions): GenaiPricesOptions {
  checkFields("options", options, checks);
  const { provider, model, date } = options;
  if (provider !== undefined && !hasProvider(toCatalogueId(provider))) {
    throw invalidOption("provider", checks.provider[0], provider);
  }
  // What the caller does to the date later does not change what it means.
  return { provider, model, date: date === undefined ? undefined : new Date(date) };
}
