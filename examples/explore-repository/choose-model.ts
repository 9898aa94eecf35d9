// Chooses the model: the user's own if a key is set, else the scripted one.

import type { Pricing, Provider } from "turnwright";
import { providerFromEnvironment } from "../support/provider-from-environment.ts";
import { createScriptedModel } from "./scripted-model.ts";

/** A model, and what is to be said of it. */
export interface Model {
  readonly provider: Provider;
  readonly pricing: Pricing;
  /** A note on the prices that the cost is based on. */
  readonly priceNote: string;
  readonly isScripted: boolean;
}

/** `isPaced`: a script speaks no faster than one reads. `isOffline`: no key is looked for. */
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

/** From "1/4": a million input tokens for $1, a million output tokens for $4. Without prices the cost is unknown. */
function createPricing(prices = ""): Pricing {
  const [input = Number.NaN, output = Number.NaN] = prices.split("/").map(Number.parseFloat);
  return ({ inputTokens, outputTokens }) => {
    const cost = (inputTokens * input + outputTokens * output) / 1_000_000;
    return Number.isNaN(cost) ? undefined : cost;
  };
}
