// The entry `turnwright/prices`.

export { genaiPrices } from "./genai-prices.ts";
export type { GenaiPricesOptions } from "./genai-prices.ts";
