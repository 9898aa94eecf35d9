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
function checkPriceOptions(options: GenaiPricesOptions): GenaiPricesOptions {
  checkFields("options", options, checks);
  const { provider, model, date } = options;
  if (provider !== undefined && !hasProvider(toCatalogueId(provider))) {
    throw invalidOption("provider", checks.provider[0], provider);
  }
  // A copy: later changes by the caller to the date have no effect.
  return { provider, model, date: date === undefined ? undefined : new Date(date) };
}

/**
 * Ids of the catalogue by the well-known values of `gen_ai.provider.name`, where these differ (OpenTelemetry's conventions for
 * generative AI). The catalogue would take "azure.ai.openai" for OpenAI itself, and does not know "x_ai".
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

/** The id under which the catalogue has a provider, if it has it. */
function toCatalogueId(name: string): string {
  const id = name.trim().toLowerCase();
  return idByName.get(id) ?? id;
}

/** Whether the catalogue has a provider of exactly this id: by itself it is content with a likeness. */
function hasProvider(id: string): boolean {
  return findProvider({ providerId: id })?.id === id;
}

/** Which price is asked for. */
interface PriceQuestion {
  /** The provider's id in the catalogue. */
  readonly providerId: string;
  readonly model: string;
  readonly date: Date;
}

/** USD for one iteration; undefined where the catalogue lacks the provider, the model, or the price of tokens that were used. */
function priceOf(usage: Usage, { providerId, model, date }: PriceQuestion): number | undefined {
  const found = calcPrice(toCounts(usage), model, { providerId, timestamp: date });
  if (found === null || found.provider.id !== providerId) return undefined;
  const { input_mtok: input, output_mtok: output } = found.model_price;
  // A price that is not there counts as 0 in the catalogue.
  if ((usage.inputTokens > 0 && input === undefined) || (usage.outputTokens > 0 && output === undefined)) return undefined;
  return found.total_price;
}

/** Both count cached tokens as part of the input, and reasoning as part of the output. The catalogue throws for a part above its whole. */
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
