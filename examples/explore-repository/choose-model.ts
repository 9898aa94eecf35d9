import type { Pricing, Provider } from "turnwright";
import { pricingFromEnvironment } from "../support/pricing-from-environment.ts";
import { providerFromEnvironment } from "../support/provider-from-environment.ts";
import { createScriptedModel } from "./scripted-model.ts";

export interface Model {
  readonly provider: Provider;
  readonly pricing: Pricing;
  readonly priceNote: string;
  readonly isScripted: boolean;
}

/**
 * Returns a real model if an API key is set, and otherwise the scripted model. With `isPaced`, the scripted model writes at reading
 * speed. With `isOffline`, API keys are ignored.
 */
export function chooseModel({ isPaced, isOffline }: { readonly isPaced: boolean; readonly isOffline: boolean }): Model {
  const provider = isOffline ? undefined : providerFromEnvironment();
  if (provider !== undefined) {
    return { provider, pricing: pricingFromEnvironment(provider.id), priceNote: "", isScripted: false };
  }
  const script = createScriptedModel({ isPaced });
  return { provider: script, pricing: pricingFromEnvironment(script.id), priceNote: "made-up prices", isScripted: true };
}
