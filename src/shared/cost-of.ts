// Computes the cost of tokens with the run's `pricing` function.

import type { Pricing, Usage } from "../core/types/common.ts";
import type { EventSink } from "../core/types/loop-event.ts";
import type { AttemptSpending, StreamResult } from "../core/types/provider.ts";
import type { CostUnknownWhy } from "../core/types/termination.ts";
import { toPlainError, toUsage } from "./plain-error.ts";
import { dropPromise } from "./promises.ts";
import { describeValue } from "./texts.ts";

interface PricedModel {
  readonly provider: string;
  readonly model: string;
  readonly iteration: number;
}

export interface PricingPorts {
  readonly pricing?: Pricing | undefined;
  readonly events: EventSink;
}

export function costOf(usage: Usage | undefined, by: PricedModel, { pricing, events }: PricingPorts): number | CostUnknownWhy {
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

export interface PricedAttempts {
  readonly tokens: number;
  /** The sum of the known costs, in USD. */
  readonly costUSD: number;
  /** The last known cost, in USD. */
  readonly lastCostUSD: number | undefined;
  /** The first attempt with an unknown cost. */
  readonly unpriced: StreamResult["unpriced"];
}

/** Computes the cost of each attempt, using the attempt's own provider and model. */
export function priceAttempts(attempts: readonly AttemptSpending[], iteration: number, ports: PricingPorts): PricedAttempts {
  let tokens = 0;
  let costUSD = 0;
  let lastCostUSD: number | undefined;
  let unpriced: StreamResult["unpriced"];
  for (const { usage: given, provider, model } of attempts) {
    const usage = given && toUsage(given);
    tokens += usage?.totalTokens ?? 0;
    if (ports.pricing === undefined) continue;
    const cost = costOf(usage, { provider, model, iteration }, ports);
    if (typeof cost === "number") {
      lastCostUSD = cost;
      costUSD += cost;
    } else unpriced ??= { provider, model, why: cost };
  }
  return { tokens, costUSD, lastCostUSD, unpriced };
}
