// Prices from a catalogue, and a custom price.

import type { Pricing } from "turnwright";
import { genaiPrices } from "turnwright/prices";

const listed = genaiPrices({ provider: "openai" });

/** Uses list prices, but no costs for local models. */
export const pricing: Pricing = (tokens, used) => (used.provider === "ollama" ? 0 : listed(tokens, used));
