// Runs inside a call: what they take from the run around them, and what they have used when the call is over.

import type { LoopOptions, NestedLoopOptions } from "../../types/loop-options.ts";
import type { NestedSpending } from "../../types/tool-outcome.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import { Deadline, type Raced } from "../../cancellation/deadline.ts";
import { CancelScope } from "../../cancellation/cancel-scope.ts";
import { addCost, addUsage, noUsage } from "../../utils/count-usage.ts";
import type { NestedRun, Nesting, Run, StartedRun } from "../run/run.ts";

/** Starts a run inside a call. Throws LoopError for misuse, "depth-exceeded" among others. */
export function startNested(nesting: Nesting, options: NestedLoopOptions): StartedRun {
  const { run: outer } = nesting;
  const { provider, pricing, session, context } = outer.options;
  const given = definedIn(options);
  const { timeouts = {} } = given;
  // A stopped run does not wait longer for what is inside it than for its own tools.
  const settleMs = Math.min(timeouts.settleMs ?? outer.timeouts.settleMs, outer.timeouts.settleMs);
  return outer.nest(
    {
      provider,
      pricing,
      clock: outer.clock,
      session,
      context,
      ...given,
      timeouts: { ...outer.options.timeouts, ...timeouts, settleMs },
    },
    nesting,
  );
}

/** An option that is there and undefined is one that was not given. */
function definedIn(options: NestedLoopOptions): Partial<LoopOptions> & Pick<LoopOptions, "messages"> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), messages: options.messages };
}

const nothingSpent: NestedSpending = { usage: noUsage, costUSD: 0, toolCallsExecuted: 0 };

/**
 * Ends what is still running of a call that is over, and adds what its runs have used to what is known already. Runs end at once when
 * they are told to; one over a journal of the tool's own that never answers is left behind.
 */
export async function endNested(runs: readonly NestedRun[], known: NestedSpending = nothingSpent): Promise<NestedSpending> {
  const ends = await Promise.all(runs.map(endRun));
  return ends.reduce<NestedSpending>(
    (sum, end, index) => (end.kind === "value" ? addSpending(sum, spendingOf(end.value, runs[index]?.run)) : sum),
    known,
  );
}

/** What a nested run has used. */
export function spendingOf({ usage, costUSD, toolCallsExecuted }: LoopResult, run: Run | undefined): NestedSpending {
  const spent = { usage, costUSD, toolCallsExecuted };
  return costUSD === undefined && run !== undefined ? { ...spent, knownCostUSD: run.state.spentUSD } : spent;
}

function endRun({ run, result }: NestedRun): Promise<Raced<LoopResult>> {
  run.scope.cancel({ kind: "abort", reason: new DOMException("The call is over.", "AbortError") });
  const limitMs = Math.max(1, run.timeouts.settleMs);
  return new Deadline({ limitMs }, { clock: run.clock, scope: new CancelScope() }).race(result);
}

function addSpending(sum: NestedSpending, spent: NestedSpending): NestedSpending {
  const costUSD = addCost(sum.costUSD, spent.costUSD);
  const knownCostUSD = (sum.costUSD ?? sum.knownCostUSD ?? 0) + (spent.costUSD ?? spent.knownCostUSD ?? 0);
  return {
    usage: addUsage(sum.usage, spent.usage),
    costUSD,
    ...(costUSD === undefined ? { knownCostUSD } : {}),
    toolCallsExecuted: sum.toolCallsExecuted + spent.toolCallsExecuted,
  };
}
