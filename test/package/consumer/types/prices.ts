// Prices out of a catalogue, with one of one's own.

import type { Pricing } from "turnwright";
import { genaiPrices } from "turnwright/prices";

const listed = genaiPrices({ provider: "openai" });

/** List prices, and no cost for a local model. */
export const pricing: Pricing = (tokens, used) => (used.provider === "ollama" ? 0 : listed(tokens, used));
