// Applies the handoffs that a run's calls request.

import type { Handoff } from "../core/types/tool-outcome.ts";
import type { State } from "../core/types/middleware.ts";

export interface HandoffFold {
  agent: string | undefined;
  readonly handoffs: Handoff[];
}

/** Applies the first handoff in a message, unless an earlier call is still waiting, because that call may be a handoff too. */
export function applyHandoff(own: HandoffFold, { lastBatch, iteration, messages }: State): void {
  const { agent: from } = own;
  if (from === undefined) return;
  for (const { call, outcome, waits } of lastBatch) {
    if (waits.length > 0) return;
    if (outcome.kind !== "completed" || outcome.handoff === undefined) continue;
    const { to, reason } = outcome.handoff;
    own.agent = to;
    own.handoffs.push({ from, to, reason, iteration, callId: call.callId, messagesBefore: messages.length });
    return;
  }
}
