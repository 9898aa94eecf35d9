// Prices what a model was asked for, by the caller's own price list.

import type { EventSink } from "../contract/loop-event.ts";
import type { Pricing, Usage } from "../contract/usage.ts";
import { toPlainError } from "../kit/plain-error.ts";
import { promiseOrValue } from "../kit/promise-or-value.ts";

/** Who answered, and in which pass. */
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

/** What tokens cost, in USD. A price list that throws does not know the price. */
export function costOf(usage: Usage, by: Answerer, { pricing, events }: PricingPorts): number | undefined {
  const { provider, model, iteration } = by;
  try {
    const cost: unknown = promiseOrValue(pricing?.(usage, { provider, model }));
    if (cost instanceof Promise) {
      cost.catch(() => {});
      throw new TypeError("pricing must answer at once, not with a promise.");
    }
    return typeof cost === "number" && Number.isFinite(cost) && cost >= 0 ? cost : undefined;
  } catch (error) {
    events.send({ type: "listener-error", runId: events.runId, iteration, event: "pricing", error: toPlainError(error) });
    return undefined;
  }
}
