// Whether the limits leave one more request inside a stream whose attempts have failed.

import type { AttemptSpending } from "../../types/provider.ts";
import type { EndReason } from "../../types/termination.ts";
import { textOf } from "../../utils/read-foreign.ts";
import { toUsage } from "../../utils/read-foreign.ts";
import { costOf } from "../state/cost-of.ts";
import type { Run } from "../run/run.ts";

/**
 * The limit, of this run or of one around it, for which one more request is too much: it is taken to cost what the last one did. An
 * attempt whose cost nobody knows ends the run before its next stream, and not here.
 */
export function findSpent({ options, state, meter, events }: Run, attempts: readonly AttemptSpending[]): EndReason | undefined {
  const { pricing } = options;
  let tokens = 0;
  let costUSD = 0;
  let lastCostUSD = state.lastCostUSD;
  for (const attempt of attempts) {
    if (attempt.usage === undefined) continue;
    const usage = toUsage(attempt.usage);
    tokens += usage.totalTokens;
    if (pricing === undefined) continue;
    const by = { provider: textOf(attempt.provider), model: textOf(attempt.model), iteration: state.iteration };
    const cost = costOf(usage, by, { pricing, events });
    if (typeof cost !== "number") continue;
    lastCostUSD = cost;
    costUSD += cost;
  }
  return meter.findSpent(lastCostUSD, { tokens, costUSD });
}
