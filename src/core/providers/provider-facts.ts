import type { Provider } from "../types/provider.ts";

export type ProviderFacts = Omit<Provider, "stream">;

/** Returns the facts about a provider, for a provider that is built on it. Omits abilities that are not true. */
export function toProviderFacts({ id, model, family, compacts, searchesTools, structuresOutput }: ProviderFacts): ProviderFacts {
  return {
    id,
    model,
    ...(family === undefined ? {} : { family }),
    ...(compacts === true ? { compacts } : {}),
    ...(searchesTools === true ? { searchesTools } : {}),
    ...(structuresOutput === true ? { structuresOutput } : {}),
  };
}
