import type { Pricing } from "turnwright";
import { genaiPrices } from "turnwright/prices";

const listed = genaiPrices({ provider: "openai" });

/** Costs are list prices. Local models cost nothing. */
export const pricing: Pricing = (tokens, used) => (used.provider === "ollama" ? 0 : listed(tokens, used));
