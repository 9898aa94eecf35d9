// Prices what a model was asked for, by the caller's own price list.

import type { EventSink } from "../../types/loop-event.ts";
import type { Pricing, Usage } from "../../types/usage.ts";
import type { CostUnknownWhy } from "../../types/termination.ts";
import { describeValue } from "../../utils/describe-value.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { promiseOrValue } from "../../utils/promise-or-value.ts";

/** Who answered, and in which iteration. */
interface Answerer {
  readonly provider: string;
  readonly model: string;
  readonly iteration: number;
}

/** What pricing uses of a run. */
interface PricingPorts {
  readonly pricing?: Pricing | undefined;
  readonly events: EventSink;
}

/** What tokens cost, in USD, or why that is not known. */
export function costOf(usage: Usage | undefined, by: Answerer, { pricing, events }: PricingPorts): number | CostUnknownWhy {
  if (usage === undefined) return "no-usage";
  const { provider, model, iteration } = by;
  try {
    const cost: unknown = promiseOrValue(pricing?.(usage, { provider, model }));
    if (cost instanceof Promise) {
      cost.catch(() => {});
      throw new TypeError("pricing must answer at once, not with a promise.");
    }
    if (cost === undefined) return "no-price";
    if (typeof cost === "number" && Number.isFinite(cost) && cost >= 0) return cost;
    throw new TypeError(`pricing must give USD, a number of 0 or more, or undefined, but gave ${describeValue(cost)}.`);
  } catch (error) {
    events.send({ type: "listener-error", runId: events.runId, iteration, event: "pricing", error: toPlainError(error) });
    return "pricing-failed";
  }
}
