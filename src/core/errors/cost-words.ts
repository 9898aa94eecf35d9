// Says in words why a limit of cost ended a run.

import type { CostUnknownWhy, EndReason } from "../types/termination.ts";
import { quote } from "../utils/describe-value.ts";

/** The reasons that a limit of cost gives. */
export type CostReason = Extract<EndReason, { readonly kind: "max-cost" | "cost-unknown" }>;

const because: { readonly [Why in CostUnknownWhy]: string } = {
  "no-usage": ", because the provider reported no usage",
  "no-price": ', because "pricing" gave undefined',
  "pricing-failed": ', because "pricing" threw or gave no number of 0 or more (see the event listener-error)',
};

/** Reads on behind a colon. */
export function describeCost(reason: CostReason): string {
  if (reason.kind === "max-cost") {
    const { limitUSD, spentUSD, expectedUSD } = reason;
    const next = expectedUSD === undefined ? "" : `, one more stream is taken to cost $${round(expectedUSD)}`;
    return `$${round(spentUSD)} is spent${next}, and the limit is $${round(limitUSD)}`;
  }
  const { provider, model, iteration, why } = reason;
  const by = provider === undefined || model === undefined ? "" : ` with ${quote(model)} of ${quote(provider)}`;
  const place = iteration === undefined ? "an iteration" : `iteration ${iteration}`;
  const cause = why === undefined ? "" : because[why];
  return `what ${place} has cost${by} is not known${cause}, so that the limit of cost cannot be kept`;
}

function round(usd: number): number {
  return Number(usd.toPrecision(6));
}
