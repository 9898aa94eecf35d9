// Runs inside a call: what they take from the run around them, and what they have used when the call is over.

import type { LoopOptions, NestedLoopOptions } from "../contract/loop-options.ts";
import type { NestedSpending } from "../contract/tool-outcome.ts";
import { addUsage, noUsage } from "../state/add-usage.ts";
import type { NestedRun, Nesting } from "./run.ts";

/** Starts a run inside a call. Throws LoopError for misuse, "depth-exceeded" among others. */
export function startNested(nesting: Nesting, options: NestedLoopOptions): NestedRun {
  const { run: outer } = nesting;
  const { provider, pricing, timeouts, session, context } = outer.options;
  const inherited = { provider, pricing, timeouts, clock: outer.clock, session, context };
  return outer.nest({ ...inherited, ...definedIn(options) }, nesting);
}

/** An option that is there and undefined is one that was not given. */
function definedIn(options: NestedLoopOptions): Partial<LoopOptions> & Pick<LoopOptions, "messages"> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), messages: options.messages };
}

const nothingSpent: NestedSpending = { usage: noUsage, costUSD: 0, toolCallsExecuted: 0 };

/** Ends what is still running of a call that is over, and adds what its runs have used to what is known already. */
export async function endNested(runs: readonly NestedRun[], known: NestedSpending = nothingSpent): Promise<NestedSpending> {
  for (const { run } of runs) run.scope.cancel({ kind: "abort", reason: new DOMException("The call is over.", "AbortError") });
  const ends = await Promise.allSettled(runs.map(({ result }) => result));
  return ends.reduce<NestedSpending>((sum, end) => (end.status === "fulfilled" ? addSpending(sum, end.value) : sum), known);
}

function addSpending(sum: NestedSpending, spent: NestedSpending): NestedSpending {
  return {
    usage: addUsage(sum.usage, spent.usage),
    costUSD: sum.costUSD === undefined || spent.costUSD === undefined ? undefined : sum.costUSD + spent.costUSD,
    toolCallsExecuted: sum.toolCallsExecuted + spent.toolCallsExecuted,
  };
}
