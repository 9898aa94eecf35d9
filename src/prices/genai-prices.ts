import { type Check, checkFields, type Checks, invalidOption } from "../core/kit.ts";
import { isFilled } from "../shared/errors/check-fields.ts";
import type { Pricing, Usage } from "../core/index.ts";
import { reconcileUsage } from "../shared/count-usage.ts";
import { calcPrice, findProvider } from "@pydantic/genai-prices";

/** The options for `genaiPrices`. */
export interface GenaiPricesOptions {
  /**
   * The provider whose prices are used for all iterations: its `gen_ai.provider.name`, or its id in the catalog of
   * `@pydantic/genai-prices`. Useful for proxies. Default: the provider of each iteration.
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

/** The options for `genaiContextWindow`. */
export interface GenaiContextWindowOptions {
  /**
   * The provider whose models are looked up: its `gen_ai.provider.name`, or its id in the catalog of `@pydantic/genai-prices`.
   * Useful for proxies. Default: the provider of each call.
   */
  readonly provider?: string | undefined;
  /** The model that is looked up. Useful for deployments with custom names. Default: the model of each call. */
  readonly model?: string | undefined;
}

const providerCheck: Check = ["a provider in the @pydantic/genai-prices catalog", isFilled];

const modelCheck: Check = ["the name of a model", isFilled];

const windowChecks: Checks<GenaiContextWindowOptions> = { provider: providerCheck, model: modelCheck };

const priceChecks: Checks<GenaiPricesOptions> = {
  provider: providerCheck,
  model: modelCheck,
  date: ["a valid Date", (value) => value instanceof Date && !Number.isNaN(value.getTime())],
};

/** Throws for an unknown provider, because no price or size would ever be found. */
function checkProvider(provider: string | undefined): void {
  if (provider === undefined) return;
  const id = toCatalogId(provider);
  // Compares the ids, because `findProvider` also accepts similar ones.
  if (findProvider({ providerId: id })?.id !== id) throw invalidOption("provider", providerCheck[0], provider);
}

/**
 * The catalog ids of providers whose `gen_ai.provider.name` (OpenTelemetry's conventions for generative AI) differs from their
 * id. Without this map, the catalog would treat "azure.ai.openai" as OpenAI, and would not find "x_ai".
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

function toCatalogId(name: string): string {
  const id = name.trim().toLowerCase();
  return idByName.get(id) ?? id;
}

interface Priced {
  readonly providerId: string;
  readonly model: string;
  readonly date: Date;
}

function priceOf(usage: Usage, { providerId, model, date }: Priced): number | undefined {
  const found = calcPrice(toCounts(usage), model, { providerId, timestamp: date });
  if (found === null || found.provider.id !== providerId) return undefined;
  const { input_mtok: input, output_mtok: output } = found.model_price;
  // Detects missing prices here, because `calcPrice` treats them as 0.
  if ((usage.inputTokens > 0 && input === undefined) || (usage.outputTokens > 0 && output === undefined)) return undefined;
  return found.total_price;
}

/**
 * Converts token counts to the catalog's format. Both formats include cached tokens in the input, and reasoning tokens in the output.
 * `calcPrice` throws for impossible counts, such as more cached input tokens than input tokens, so `reconcileUsage` corrects the counts
 * first.
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
 * Creates the `pricing` option from the catalog in `@pydantic/genai-prices`. The catalog has list prices for models from many providers. It
 * includes prices for cache reads and writes, tiers for long prompts, and prices that change with the date. No prices are fetched unless
 * you call `updatePrices` from that package.
 *
 * The cost is `undefined`, never 0, if the model is not in the catalog or has no price for tokens that were used. A provider is
 * looked up by its exact id. A server with a compatible API is therefore not priced like the original service, unless you set
 * `provider`. If a count is larger than the total that should include it, such as more cached tokens than input tokens, the count
 * is added to the total. The returned function throws for invalid counts. In a run, this error is reported to listeners as a
 * `listener-error`, and the cost is unknown.
 *
 * `genaiPrices` itself throws LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const result = await runToolLoop({ provider, messages, pricing: genaiPrices() });
 * console.log(result.costUSD);
 */
export function genaiPrices(options: GenaiPricesOptions = {}): Pricing {
  checkFields("options", options, priceChecks);
  const { provider, model, date } = options;
  checkProvider(provider);
  return (usage, used) =>
    priceOf(usage, {
      providerId: toCatalogId(provider ?? used.provider),
      model: model ?? used.model,
      date: date ?? new Date(),
    });
}

/**
 * Returns a function that takes a provider id and a model name, and returns the size of the model's context window in
 * tokens. The size comes from the catalog in `@pydantic/genai-prices`, and nothing is fetched. The window has to hold the
 * input and the answer.
 *
 * The function returns `undefined` if the catalog does not know the provider, the model or the size. A provider is looked up by
 * its exact id, as in `genaiPrices`. A server with a compatible API therefore has no sizes unless you set `provider`.
 *
 * `genaiContextWindow` itself throws LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const contextWindow = genaiContextWindow();
 * console.log(contextWindow("anthropic", "claude-sonnet-4-5")); // 200000
 */
export function genaiContextWindow(
  options: GenaiContextWindowOptions = {},
): (provider: string, model: string) => number | undefined {
  checkFields("options", options, windowChecks);
  const { provider: givenProvider, model: givenModel } = options;
  checkProvider(givenProvider);
  return (provider, model) => windowOf(toCatalogId(givenProvider ?? provider), givenModel ?? model);
}

/** Looks up a model's context window. Calls `calcPrice` without token counts, so that model names match exactly as in `genaiPrices`. */
function windowOf(providerId: string, model: string): number | undefined {
  const found = calcPrice({}, model, { providerId });
  return found?.provider.id === providerId ? found.model.context_window : undefined;
}
