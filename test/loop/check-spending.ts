import { expect } from "vitest";
import type { LoopResult, StreamResult, Usage } from "turnwright";
import type { Plan } from "./random-run.ts";
import { savedOf } from "./run-plan.ts";

interface Spending {
  readonly usage?: Usage | undefined;
  readonly costUSD?: number | undefined;
}

function extractionsOf(result: LoopResult): readonly Spending[] {
  return Object.entries(savedOf(result).steps).flatMap(([key, answer]) => {
    const steps = key.endsWith("/model") ? eagerStepsOf(answer as unknown as StreamResult) : [[key, answer] as const];
    return steps.flatMap(([step, made]) => {
      if (!step.endsWith("/@process-results/results")) return [];
      const { value } = made as { readonly value?: { readonly extraction?: Spending } };
      return value?.extraction ?? [];
    });
  });
}

/** The record of an answer contains the steps of its eager calls. */
function eagerStepsOf({ eagerOutcomes = [] }: StreamResult): readonly (readonly [key: string, answer: unknown])[] {
  return eagerOutcomes.flatMap((outcome) => Object.entries((outcome as { readonly steps?: object }).steps ?? {}));
}

/**
 * The usage and cost of a run must be the sums over all streams and extractions. If one cost is unknown, the total cost must be
 * unknown.
 */
export function checkSpending(result: LoopResult, { prices, limits }: Plan): void {
  const spendings = [...result.streamResults, ...extractionsOf(result)];
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
  expect(result.usage.totalTokens).toBe(sum(spendings.map(({ usage }) => usage?.totalTokens ?? 0)));
  const isKnown = prices !== "none" && spendings.every(({ costUSD }) => costUSD !== undefined);
  if (isKnown) expect(result.costUSD).toBeCloseTo(sum(spendings.map(({ costUSD }) => costUSD ?? 0)), 9);
  else expect(result.costUSD).toBeUndefined();
  checkCap(result, limits);
}

/** A stream after the first one may begin only if the cost so far plus the last known cost was within `maxCostUSD`. */
function checkCap({ streamResults, budgetExceeded }: LoopResult, { maxCostUSD, onUnknownCost }: Plan["limits"]): void {
  if (maxCostUSD === undefined) return expect(budgetExceeded).toBe(false);
  let spent = 0;
  let last = 0;
  for (const [index, { costUSD }] of streamResults.entries()) {
    if (index > 0) expect(spent + last).toBeLessThanOrEqual(maxCostUSD + 1e-9);
    spent += costUSD ?? 0;
    last = costUSD ?? last;
    if (index < streamResults.length - 1 && onUnknownCost === "end") expect(costUSD).toBeDefined();
  }
}
