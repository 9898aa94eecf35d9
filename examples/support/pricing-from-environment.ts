// Prices for the user's own model, and invented prices for a scripted model.

import type { Pricing } from "turnwright";

/** Reads OPENAI_PRICES or ANTHROPIC_PRICES, such as "1/4". Models of other ids cost 1 and 4 USD for a million tokens. */
export function pricingFromEnvironment(providerId: string, env: NodeJS.ProcessEnv = process.env): Pricing {
  if (providerId === "anthropic") return createPricing(env["ANTHROPIC_PRICES"]);
  return createPricing(providerId.startsWith("openai") ? env["OPENAI_PRICES"] : "1/4");
}

/** From "1/4": a million input tokens for $1, a million output tokens for $4. Without prices the cost is unknown. */
function createPricing(prices = ""): Pricing {
  const [input = Number.NaN, output = Number.NaN] = prices.split("/").map(Number.parseFloat);
  return ({ inputTokens, outputTokens }) => {
    const cost = (inputTokens * input + outputTokens * output) / 1_000_000;
    return Number.isNaN(cost) ? undefined : cost;
  };
}
