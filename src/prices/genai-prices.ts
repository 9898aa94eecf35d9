// Prices from the catalogue of @pydantic/genai-prices.

import {
  checkFields,
  type Checks,
  invalidOption,
  isFilled,
  type Pricing,
  reconcileUsage,
  type Usage,
} from "../core/entry-kit.ts";
import { calcPrice, findProvider } from "@pydantic/genai-prices";

/** The options of `genaiPrices`. */
export interface GenaiPricesOptions {
  /**
   * The provider to price by, for any provider of an iteration: a `gen_ai.provider.name`, or an id in the catalogue. Useful for
   * proxies. Default: the iteration's own.
   */
  readonly provider?: string | undefined;
  /**
   * The model to price by, for any model of an iteration. Useful for deployments with a name of their own. Default: the
   * iteration's own.
   */
  readonly model?: string | undefined;
  /** The date of the prices. Default: the time of the iteration. */
  readonly date?: Date | undefined;
}

const checks: Checks<GenaiPricesOptions> = {
  provider: ["a provider that the catalogue of @pydantic/genai-prices has", isFilled],
  model: ["the name of a model", isFilled],
  date: ["a valid Date", (value) => value instanceof Date && !Number.isNaN(value.getTime())],
};

/** Throws LoopError `invalid-option` or `unknown-option`. A misspelt provider is rejected, because it would have no prices. */
function checkPriceOptions(options: GenaiPricesOptions): GenaiPricesOptions {
  checkFields("options", options, checks);
  const { provider, model, date } = options;
  if (provider !== undefined && !hasProvider(toCatalogueId(provider))) {
    throw invalidOption("provider", checks.provider[0], provider);
  }
  // A copy, so that later changes of the date by the caller have no effect.
  return { provider, model, date: date === undefined ? undefined : new Date(date) };
}

/**
 * Catalogue ids for well-known values of `gen_ai.provider.name` that differ from them (OpenTelemetry's conventions for generative
 * AI). The catalogue would treat "azure.ai.openai" as OpenAI itself, and does not know "x_ai".
 */
const idByName: ReadonlyMap<string, string> = new Map([
  ["aws.bedrock", "aws"],
  ["azure.ai.inference", "azure"],
  ["azure.ai.openai", "azure"],
  ["gcp.gemini", "google"],
  ["gcp.gen_ai", "google"],
  ["gcp.vertex_ai", "google"],
  ["mistral_ai", "mistral"],
  ["moonshot_ai", "moonshotai"],
  ["x_ai", "x-ai"],
]);

/** Returns the catalogue's id of a provider, if it has one. */
function toCatalogueId(name: string): string {
  const id = name.trim().toLowerCase();
  return idByName.get(id) ?? id;
}

/** True if the catalogue has a provider with exactly this id. The catalogue itself also accepts similar ids. */
function hasProvider(id: string): boolean {
  return findProvider({ providerId: id })?.id === id;
}

/** The price to look up. */
interface PriceQuestion {
  /** The provider's id in the catalogue. */
  readonly providerId: string;
  readonly model: string;
  readonly date: Date;
}

/** Returns USD for one iteration; undefined if the catalogue lacks the provider, the model, or the price of tokens that were used. */
function priceOf(usage: Usage, { providerId, model, date }: PriceQuestion): number | undefined {
  const found = calcPrice(toCounts(usage), model, { providerId, timestamp: date });
  if (found === null || found.provider.id !== providerId) return undefined;
  const { input_mtok: input, output_mtok: output } = found.model_price;
  // The catalogue counts a missing price as 0.
  if ((usage.inputTokens > 0 && input === undefined) || (usage.outputTokens > 0 && output === undefined)) return undefined;
  return found.total_price;
}

/**
 * Converts the counts. Both formats include cached tokens in the input and reasoning in the output. The catalogue throws for a
 * part larger than its whole.
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
 * Makes a `pricing` from the catalogue in `@pydantic/genai-prices`: list prices of many providers' models, with cache reads and
 * writes, tiers for long prompts, and prices that change with the date. Nothing is fetched, unless you call `updatePrices` of
 * that package.
 *
 * A model that is not in the catalogue costs `undefined`, never 0. So does a model without a price for tokens that were used. A
 * provider is looked up by its exact id, so that a compatible server is not priced like the service it imitates; set `provider`
 * to change that. A part that is larger than its whole, such as more cached tokens than input, is added to it. Invalid counts
 * throw. Within a run, listeners then get a `listener-error`, and the cost is unknown.
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
