export { genaiContextWindow, genaiPrices } from "./genai-prices.ts";
export type { GenaiContextWindowOptions, GenaiPricesOptions } from "./genai-prices.ts";
