// Prices the usage of streams, and finds the limit that one more request would exceed.

import type { EventSink } from "../../types/loop-event.ts";
import type { Pricing, Usage } from "../../types/common.ts";
import type { AttemptSpending, StreamResult } from "../../types/provider.ts";
import type { CostUnknownWhy } from "../../types/termination.ts";
import { describeValue } from "../../../shared/texts.ts";
import { toPlainError, toUsage } from "../../../shared/plain-error.ts";
import { dropPromise } from "../../../shared/promises.ts";

interface Answerer {
  readonly provider: string;
  readonly model: string;
  readonly iteration: number;
}

interface PricingPorts {
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

interface PricedAttempts {
  readonly tokens: number;
  /** The sum of the known costs, in USD. */
  readonly costUSD: number;
  /** The last known cost, in USD. */
  readonly lastCostUSD: number | undefined;
  /** The first attempt with an unknown cost. */
  readonly unpriced: StreamResult["unpriced"];
}

/** Computes the cost of each attempt with its own provider and model. */
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
