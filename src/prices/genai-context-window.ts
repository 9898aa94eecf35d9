// Finds the size of context windows in the catalogue of @pydantic/genai-prices.

import { checkFields, type Checks } from "../core/entry-kit.ts";
import { calcPrice } from "@pydantic/genai-prices";
import { checkProvider, modelCheck, providerCheck, toCatalogueId } from "./catalogue.ts";

/** The options of `genaiContextWindow`. */
export interface GenaiContextWindowOptions {
  /**
   * The provider whose models are looked up, under its `gen_ai.provider.name` or its id in the catalogue. Useful for proxies.
   * Default: the provider of each call.
   */
  readonly provider?: string | undefined;
  /** The model that is looked up. Useful for deployments with custom names. Default: the model of each call. */
  readonly model?: string | undefined;
}

const checks: Checks<GenaiContextWindowOptions> = { provider: providerCheck, model: modelCheck };

/**
 * Returns a function that takes the id of a provider and the name of a model, and returns the size of the model's context window
 * in tokens. The size comes from the catalogue in `@pydantic/genai-prices`, and nothing is fetched. The window has to hold the
 * input and the answer.
 *
 * The function returns `undefined` if the catalogue does not know the provider, the model or the size. A provider is looked up by
 * its exact id, as in `genaiPrices`. A server with a compatible API therefore has no sizes unless you set `provider`.
 *
 * `genaiContextWindow` itself throws LoopError "invalid-option" or "unknown-option".
 *
 * @example
 * const contextWindow = genaiContextWindow();
 * console.log(contextWindow("anthropic", "claude-sonnet-4-5")); // 200000
 */
export function genaiContextWindow(
  options: GenaiContextWindowOptions = {},
): (provider: string, model: string) => number | undefined {
  checkFields("options", options, checks);
  const { provider: givenProvider, model: givenModel } = options;
  checkProvider(givenProvider);
  return (provider, model) => windowOf(toCatalogueId(givenProvider ?? provider), givenModel ?? model);
}

/** Calculates the price of no tokens, because only `calcPrice` matches model names in the same way as `genaiPrices`. */
function windowOf(providerId: string, model: string): number | undefined {
  const found = calcPrice({}, model, { providerId });
  return found?.provider.id === providerId ? found.model.context_window : undefined;
}
