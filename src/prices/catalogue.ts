// Finds providers in the catalogue of @pydantic/genai-prices.

import { type Check, invalidOption, isFilled } from "../core/entry-kit.ts";
import { findProvider } from "@pydantic/genai-prices";

export const providerCheck: Check = ["a provider in the catalogue of @pydantic/genai-prices", isFilled];
export const modelCheck: Check = ["the name of a model", isFilled];

/**
 * The catalogue ids of providers whose `gen_ai.provider.name` (OpenTelemetry's conventions for generative AI) differs from their
 * id. Without this map, the catalogue would treat "azure.ai.openai" as OpenAI, and would not find "x_ai".
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

export function toCatalogueId(name: string): string {
  const id = name.trim().toLowerCase();
  return idByName.get(id) ?? id;
}

/**
 * True if the catalogue has a provider with exactly this id. Compares the id, because `findProvider` also accepts similar ids.
 */
function hasProvider(id: string): boolean {
  return findProvider({ providerId: id })?.id === id;
}

/** Throws LoopError "invalid-option" for an unknown provider, because no model would be found for it. */
export function checkProvider(provider: string | undefined): void {
  if (provider !== undefined && !hasProvider(toCatalogueId(provider)))
    throw invalidOption("provider", providerCheck[0], provider);
}
