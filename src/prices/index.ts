// The entry `turnwright/prices`: calculates costs with a price catalogue.

export { genaiPrices } from "./genai-prices.ts";
export type { GenaiPricesOptions } from "./genai-prices.ts";
