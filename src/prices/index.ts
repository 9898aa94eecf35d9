// The entry `turnwright/prices`: prices and context windows from a price catalogue.

export { genaiContextWindow } from "./genai-context-window.ts";
export type { GenaiContextWindowOptions } from "./genai-context-window.ts";
export { genaiPrices } from "./genai-prices.ts";
export type { GenaiPricesOptions } from "./genai-prices.ts";
