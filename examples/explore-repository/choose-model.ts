// Chooses the model: the user's model if an API key is set, otherwise the scripted model.

import type { Pricing, Provider } from "turnwright";
import { providerFromEnvironment } from "../support/provider-from-environment.ts";
import { createScriptedModel } from "./scripted-model.ts";

/** A model and its description. */
export interface Model {
  readonly provider: Provider;
  readonly pricing: Pricing;
  /** A note on the prices that the cost is based on. */
  readonly priceNote: string;
  readonly isScripted: boolean;
}

/** Returns the model. `isPaced` makes the scripted model write at reading speed. `isOffline` ignores API keys. */
export function chooseModel({ isPaced, isOffline }: { readonly isPaced: boolean; readonly isOffline: boolean }): Model {
  const provider = isOffline ? undefined : providerFromEnvironment();
  if (provider !== undefined) {
    const prices = process.env[provider.id === "anthropic" ? "ANTHROPIC_PRICES" : "OPENAI_PRICES"];
    return { provider, pricing: createPricing(prices), priceNote: "", isScripted: false };
  }
  return {
    provider: createScriptedModel({ isPaced }),
    pricing: createPricing("1/4"),
    priceNote: "made-up prices",
    isScripted: true,
  };
}

/**
 * Makes the pricing from a text such as "1/4": $1 for a million input tokens, $4 for a million output tokens. Without prices,
 * the cost is unknown.
 */
function createPricing(prices = ""): Pricing {
  const [input = Number.NaN, output = Number.NaN] = prices.split("/").map(Number.parseFloat);
  return ({ inputTokens, outputTokens }) => {
    const cost = (inputTokens * input + outputTokens * output) / 1_000_000;
    return Number.isNaN(cost) ? undefined : cost;
  };
}
