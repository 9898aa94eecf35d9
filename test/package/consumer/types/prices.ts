// Prices from a catalogue, with a custom price.

import type { Pricing } from "turnwright";
import { genaiPrices } from "turnwright/prices";

const listed = genaiPrices({ provider: "openai" });

/** List prices, and no cost for a local model. */
export const pricing: Pricing = (tokens, used) => (used.provider === "ollama" ? 0 : listed(tokens, used));
