// The names, colours and units of the budgets of a run.

import type { BudgetName } from "../analysis/budget-series.ts";
import { formatCount, formatMs, formatUSD } from "../format.ts";

interface BudgetFacts {
  readonly label: string;
  /** The class with the colour of the curve. */
  readonly className: string;
  format(value: number): string;
}

export const budgets: { readonly [Name in BudgetName]: BudgetFacts } = {
  tokens: { label: "Tokens", className: "tokens-color", format: formatCount },
  costUSD: { label: "Cost", className: "cost-color", format: formatUSD },
  iterations: { label: "Iterations", className: "iterations-color", format: formatCount },
  toolCalls: { label: "Calls", className: "calls-color", format: formatCount },
  activeMs: { label: "Active time", className: "time-color", format: formatMs },
};
