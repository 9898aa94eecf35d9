// Computes the cost of tokens with the run's `pricing` function.

import type { Pricing, Usage } from "../core/types/common.ts";
import type { EventSink } from "../core/types/loop-event.ts";
import type { CostUnknownWhy } from "../core/types/termination.ts";
import { toPlainError } from "./plain-error.ts";
import { dropPromise } from "./promises.ts";
import { describeValue } from "./texts.ts";

interface Answerer {
  readonly provider: string;
  readonly model: string;
  readonly iteration: number;
}

export interface PricingPorts {
  readonly pricing?: Pricing | undefined;
  readonly events: EventSink;
}

export function costOf(usage: Usage | undefined, by: Answerer, { pricing, events }: PricingPorts): number | CostUnknownWhy {
  if (usage === undefined) return "no-usage";
  const { provider, model, iteration } = by;
  try {
    const cost: unknown = pricing?.(usage, { provider, model });
    if (cost === undefined) return "no-price";
    if (typeof cost === "number" && Number.isFinite(cost) && cost >= 0) return cost;
    dropPromise(cost);
    throw new TypeError(`pricing must return the cost in USD (0 or more) or undefined, but returned ${describeValue(cost)}.`);
  } catch (error) {
    events.send({ type: "listener-error", runId: events.runId, iteration, event: "pricing", error: toPlainError(error) });
    return "pricing-failed";
  }
}
