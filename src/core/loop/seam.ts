// Functions for writing middleware. The hook types are in ../types/middleware.ts.

import type { Answer, Ending, Outcome } from "../types/middleware.ts";
import type { Provider } from "../types/provider.ts";
import type { ToolCall } from "../types/tool-outcome.ts";

/** Returns the answer to a request that was not made because the run ends. */
export function endWith(ending: Ending, { id: provider, model }: Pick<Provider, "id" | "model">): Answer {
  const nothing = { text: "", reasoning: "", details: "", calls: [], providerMetadata: [], visibleTools: [], durationMs: 0 };
  return { ...nothing, status: "error", costUSD: 0, provider, model, ends: ending, skipped: true };
}

/**
 * Returns the outcome for a call that middleware refuses. The model reads the reason. With `ends`, the run ends after the message's calls.
 */
export function denyCall(call: ToolCall, reason?: string, ends?: Ending): Outcome {
  return { call, durationMs: 0, kind: "denied", reason, ...(ends !== undefined && { ends }) };
}

/** True for the error that a step throws if the run was cancelled during the step. */
export function isStepCancelled(error: unknown): error is Error & { readonly ending: Ending } {
  return error instanceof Error && "ending" in error;
}

/** True if no other call in the message may begin after this outcome, because the run ends. */
export function isBarring(outcome: Outcome): boolean {
  return outcome.kind === "denied" ? outcome.ends !== undefined : outcome.kind === "failed" && outcome.fatal === true;
}
