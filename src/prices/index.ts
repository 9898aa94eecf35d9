export { genaiContextWindow, genaiPrices } from "./genai-prices.ts";
