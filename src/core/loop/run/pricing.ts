// Prices the usage of streams, and finds the limit that one more request would exceed.

import type { EventSink } from "../../types/loop-event.ts";
import type { Pricing, Usage } from "../../types/common.ts";
import type { AttemptSpending } from "../../types/provider.ts";
import type { CostUnknownWhy, EndReason } from "../../types/termination.ts";
import { describeValue } from "../../utils/texts.ts";
import { toPlainError, toUsage } from "../../utils/plain-error.ts";
import { promiseOrValue } from "../../utils/promises.ts";
import type { Run } from "./run.ts";

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
    const cost: unknown = promiseOrValue(pricing?.(usage, { provider, model }));
    if (cost instanceof Promise) {
      cost.catch(() => {});
      throw new TypeError("pricing must return the cost synchronously, but returned a promise.");
    }
    if (cost === undefined) return "no-price";
    if (typeof cost === "number" && Number.isFinite(cost) && cost >= 0) return cost;
    throw new TypeError(`pricing must return the cost in USD (0 or more) or undefined, but returned ${describeValue(cost)}.`);
  } catch (error) {
    events.send({ type: "listener-error", runId: events.runId, iteration, event: "pricing", error: toPlainError(error) });
    return "pricing-failed";
  }
}

/**
 * Returns the limit of this run or an outer run that one more request would exceed. Assumes that this request costs as much as
 * the newest request with a known cost. Unknown costs are not counted here: `nextStep` obeys `limits.onUnknownCost` before the
 * next stream.
 */
export function findSpent(run: Run, attempts: readonly AttemptSpending[], isFinal: boolean): EndReason | undefined {
  const { tokens, costUSD, lastCostUSD } = priceAttempts(run, attempts);
  return run.meter.findSpent(lastCostUSD ?? run.state.lastCostUSD, { tokens, costUSD }, isFinal);
}

interface PricedAttempts {
  readonly tokens: number;
  readonly costUSD: number;
  readonly lastCostUSD: number | undefined;
}

/** Unknown costs are not counted. */
export function priceAttempts({ options, state, events }: Run, attempts: readonly AttemptSpending[]): PricedAttempts {
  const { pricing } = options;
  let tokens = 0;
  let costUSD = 0;
  let lastCostUSD: number | undefined;
  for (const attempt of attempts) {
    if (attempt.usage === undefined) continue;
    const usage = toUsage(attempt.usage);
    tokens += usage.totalTokens;
    if (pricing === undefined) continue;
    const by = { provider: attempt.provider, model: attempt.model, iteration: state.iteration };
    const cost = costOf(usage, by, { pricing, events });
    if (typeof cost !== "number") continue;
    lastCostUSD = cost;
    costUSD += cost;
  }
  return { tokens, costUSD, lastCostUSD };
}
