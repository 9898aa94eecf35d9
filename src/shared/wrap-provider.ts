import type { Provider } from "../core/types/provider.ts";

/** The fields that describe a provider: all fields except `stream`. */
export type ProviderFacts = Omit<Provider, "stream">;

export type Ability = Exclude<keyof ProviderFacts, "id" | "model" | "family">;

const abilities = /* @__PURE__ */ Object.keys({ compacts: true, searchesTools: true, structuresOutput: true } satisfies Record<
  Ability,
  true
>) as readonly Ability[];

/** Returns the abilities that are true in `facts`. */
export function toAbilities(facts: { readonly [Name in Ability]?: unknown }): Pick<ProviderFacts, Ability> {
  return Object.fromEntries(abilities.filter((name) => facts[name] === true).map((name) => [name, true]));
}

/**
 * Copies the fields that describe a provider. Reads each field by name, because a class's fields may be getters. Omits capability flags
 * that are not true.
 */
export function toProviderFacts(facts: ProviderFacts): ProviderFacts {
  const { id, model, family } = facts;
  return { id, model, ...(family === undefined ? {} : { family }), ...toAbilities(facts) };
}

/**
 * Creates a provider from an existing one, with a new `stream`. The new provider keeps all other fields of `provider`, so that abilities
 * that a later version adds are not lost. `changes` may set more fields. For example, a wrapper that drops summaries sets `compacts:
 * undefined`.
 *
 * @example
 * const counted = wrapProvider(provider, {
 *   stream: (request, call) => ((requests += 1), provider.stream(request, call)),
 * });
 */
export function wrapProvider(provider: Provider, changes: Partial<Provider> & Pick<Provider, "stream">): Provider {
  return { ...provider, ...toProviderFacts(provider), ...changes };
}
