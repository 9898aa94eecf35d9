// Prices of a real model from environment variables, and invented prices for a scripted model.

import type { Pricing } from "turnwright";

/**
 * Reads OPENAI_PRICES or ANTHROPIC_PRICES, such as "1/4". For scripted models, a million input tokens cost 1 USD, and a million
 * output tokens 4 USD.
 */
export function pricingFromEnvironment(providerId: string, env: NodeJS.ProcessEnv = process.env): Pricing {
  if (providerId === "anthropic") return createPricing(env["ANTHROPIC_PRICES"]);
  return createPricing(providerId.startsWith("openai") ? env["OPENAI_PRICES"] : "1/4");
}

/** Parses "1/4" as 1 USD for a million input tokens and 4 USD for a million output tokens. For "", the cost is unknown. */
function createPricing(prices = ""): Pricing {
  const [input = Number.NaN, output = Number.NaN] = prices.split("/").map(Number.parseFloat);
  return ({ inputTokens, outputTokens }) => {
    const cost = (inputTokens * input + outputTokens * output) / 1_000_000;
    return Number.isNaN(cost) ? undefined : cost;
  };
}
