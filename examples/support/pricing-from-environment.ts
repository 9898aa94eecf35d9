// Reads the prices of a real model from environment variables. Scripted models have invented prices.

import type { Pricing } from "turnwright";

/**
 * Reads OPENAI_PRICES or ANTHROPIC_PRICES, such as "1/4". Scripted models always cost 1 USD per million input tokens, and 4 USD per
 * million output tokens.
 */
export function pricingFromEnvironment(providerId: string, env: NodeJS.ProcessEnv = process.env): Pricing {
  if (providerId === "anthropic") return createPricing(env["ANTHROPIC_PRICES"]);
  return createPricing(providerId.startsWith("openai") ? env["OPENAI_PRICES"] : "1/4");
}

/**
 * Parses prices such as "1/4": 1 USD per million input tokens, and 4 USD per million output tokens. Without prices, the cost of a
 * run is unknown.
 */
function createPricing(prices = ""): Pricing {
  const [input = Number.NaN, output = Number.NaN] = prices.split("/").map(Number.parseFloat);
  return ({ inputTokens, outputTokens }) => {
    const cost = (inputTokens * input + outputTokens * output) / 1_000_000;
    return Number.isNaN(cost) ? undefined : cost;
  };
}
