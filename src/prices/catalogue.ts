// The catalogue of @pydantic/genai-prices: who is in it under which id, and what it says of an iteration.

import { calcPrice, findProvider } from "@pydantic/genai-prices";
import { reconcileUsage, type Usage } from "../core/provider-kit.ts";

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
export function toCatalogueId(name: string): string {
  const id = name.trim().toLowerCase();
  return idByName.get(id) ?? id;
}

/** Whether the catalogue has a provider of exactly this id: by itself it is content with a likeness. */
export function hasProvider(id: string): boolean {
  return findProvider({ providerId: id })?.id === id;
}

/** Which price is asked for. */
export interface PriceQuestion {
  /** The provider's id in the catalogue. */
  readonly providerId: string;
  readonly model: string;
  readonly date: Date;
}

/** USD for one iteration; undefined where the catalogue lacks the provider, the model, or the price of tokens that were used. */
export function priceOf(usage: Usage, { providerId, model, date }: PriceQuestion): number | undefined {
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
