// Carries out handoffs in the state of a run. Only runs with `policies.handoffs` contain this code.

import { isWaiting } from "./apply-call.ts";
import type { HandOver, LoopState } from "./loop-state.ts";
import type { SettledCall } from "./step-result.ts";

export const ignoredHandoff = "This handoff was ignored. Only the first handoff in a message is carried out.";

/**
 * Refuses all handoffs of a message after the first one. Their tools have usually refused them already. A tool cannot know about an
 * earlier handoff that waited for an approval when the tool ran.
 */
function ignoreLaterHandoffs(settled: readonly SettledCall[]): readonly SettledCall[] {
  const first = settled.findIndex(isHandoff);
  if (first === -1) return settled;
  return settled.map((one, index): SettledCall => {
    if (index <= first || !isHandoff(one)) return one;
    const { call, durationMs, approvedArgs } = one.outcome;
    const error = { name: "ToolFailure", message: ignoredHandoff };
    return { outcome: { call, durationMs, approvedArgs, kind: "failed", error } };
  });
}

function isHandoff({ outcome }: SettledCall): boolean {
  return outcome.kind === "completed" && outcome.handoff !== undefined;
}

/** Carries out the first handoff in a message, unless an earlier call waits, which may be another handoff. */
function applyHandoff(state: LoopState, settled: readonly SettledCall[]): void {
  const { agent: from, iteration, messages } = state;
  if (from === undefined) return;
  for (const one of settled) {
    const { outcome } = one;
    if (isWaiting(one)) return;
    if (outcome.kind !== "completed" || outcome.handoff === undefined) continue;
    const { to, reason } = outcome.handoff;
    state.agent = to;
    state.handoffs.push({ from, to, reason, iteration, callId: outcome.call.callId, messagesBefore: messages.length });
    return;
  }
}

export const handOver: HandOver = { keepFirst: ignoreLaterHandoffs, apply: applyHandoff };
